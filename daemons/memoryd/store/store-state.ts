/** The states that the record store can be in, and what a request is told in each. */
import { AppError, type ErrorCode } from '../../../shared/errors.ts';

export type StoreState =
  | { readonly kind: 'ready' }
  /** Not open, and not opened again by itself: nothing of it may be overwritten. */
  | { readonly kind: 'damaged'; readonly reasons: readonly string[] }
  | { readonly kind: 'newer'; readonly format: number }
  /** After an error of the disk: it is opened again as soon as that goes; until then reads may still work. */
  | { readonly kind: 'recovering'; readonly code: ErrorCode; readonly reasons: readonly string[] }
  | { readonly kind: 'closed' };

/** A reply names no more; the status has them all. */
const reasonsMax = 10;

export function refusalOf(state: Exclude<StoreState, { kind: 'ready' }>): AppError {
  switch (state.kind) {
    case 'damaged':
      return refusal('store-damaged', 'the record store is damaged and not opened', state.reasons);
    case 'newer':
      return new AppError('store-newer', `the record store has format ${state.format}, which is newer`, {
        details: { format: state.format },
      });
    case 'recovering':
      return refusal(state.code, 'the record store is opened again after an error', state.reasons);
    case 'closed':
      return new AppError('stopping', 'the record store is closed');
  }
}

/** The same for a write, of which nothing was tried. */
export function writeRefusalOf(state: Exclude<StoreState, { kind: 'ready' }>): AppError {
  const { code, message, details } = refusalOf(state);
  return new AppError(code, message, { details: { ...details, outcome: 'not-stored' } });
}

function refusal(code: ErrorCode, what: string, reasons: readonly string[]): AppError {
  return new AppError(code, `${what}: ${reasons[0] ?? 'no reason is known'}`, {
    details: { reasons: reasons.slice(0, reasonsMax) },
  });
}
