/** Errors as the Agent Client Protocol carries them: -32002 for an unknown session, -32603 otherwise; `data.code` decides. */
import { RequestError } from '@agentclientprotocol/sdk';
import { toAppError, type AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';

export const acpCodes = {
  parse: -32700,
  request: -32600,
  params: -32602,
  internal: -32603,
  unknown: -32002,
} as const;

/** @param onError hears what is answered, so that faults are counted and bugs are logged. */
export function toRequestError(thrown: unknown, onError: (error: AppError) => void = () => {}): RequestError {
  if (thrown instanceof RequestError) return thrown;
  if (thrown instanceof ParamsError) return paramsError(thrown);
  const error = toAppError(thrown);
  onError(error);
  return appRequestError(error);
}

export function appRequestError(error: AppError): RequestError {
  if (error.code !== 'session-unknown')
    return new RequestError(acpCodes.internal, error.message, error.toData());
  // `sessionId` is where the protocol's clients look.
  const data = { ...error.toData(), sessionId: error.details['session'] };
  return new RequestError(acpCodes.unknown, error.message, data);
}

function paramsError({ field, message, value }: ParamsError): RequestError {
  return new RequestError(acpCodes.params, message, { field, ...(value === undefined ? {} : { value }) });
}

const namedMax = 5;

/** The fields that the SDK's check found wrong, as one sentence; its own message names none. */
export function invalidParamsText(data: unknown): string {
  const found: string[] = [];
  collect(data, [], found);
  return found.length === 0 ? 'Invalid params' : `Invalid params: ${found.slice(0, namedMax).join('; ')}`;
}

function collect(node: unknown, path: string[], found: string[]): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key !== '_errors') collect(value, [...path, key], found);
    else if (Array.isArray(value))
      for (const error of value) found.push(`${path.join('.') || 'params'}: ${String(error)}`);
  }
}
