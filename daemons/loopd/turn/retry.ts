/** Which faults of a model server go away by asking again, and how patiently. */
import { AppError } from '../../../shared/errors.ts';

/**
 * What a fault says of itself in `details.retry`: `loading` waits until the server is ready and counts as no attempt,
 * `again` may be asked again with another seed, `overflow` needs a shorter prompt, `never` ends the turn.
 */
export type Retry = 'loading' | 'again' | 'overflow' | 'never';

export const retryDelaysMs = [500, 2000] as const;
export const loadingPollMs = 1000;

export function retryOf(error: AppError): Retry {
  const { retry } = error.details;
  return retry === 'loading' || retry === 'again' || retry === 'overflow' ? retry : 'never';
}

/** A fault of the model as the client throws it. */
export function modelFault(
  code: 'model-unavailable' | 'model-refused' | 'context-full',
  message: string,
  { retry, cause, ...details }: { retry: Retry; cause?: unknown; [detail: string]: unknown },
): AppError {
  return new AppError(code, message, { details: { ...details, retry }, cause });
}
