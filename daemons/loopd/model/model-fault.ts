/** Errors of a model server as ours: what the fields say decides, prose only where there is nothing else. */
import type { AppError } from '../../../shared/errors.ts';
import { modelFault } from '../turn/retry.ts';

interface ErrorBody {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly n_prompt_tokens?: unknown;
  readonly n_ctx?: unknown;
}

const messageCharactersMax = 500;
/** The model wrote what the server's chat parser does not accept: another seed may do better. */
const unusableOutput = /does not match the expected|failed to parse input/i;
const againStatuses = new Set([408, 425, 429, 502, 504]);

/** An answer with an error status, or an error event in a stream; there the status is in the body. */
export function faultOfAnswer(status: number, body: unknown): AppError {
  const error = errorBodyOf(body);
  const message = describe(status, error);
  const details = { status };
  if (isOverflow(error)) {
    const { n_prompt_tokens, n_ctx } = error;
    return modelFault('context-full', message, { retry: 'overflow', ...details, n_prompt_tokens, n_ctx });
  }
  if (status === 503) return modelFault('model-unavailable', message, { retry: 'loading', ...details });
  if (againStatuses.has(status))
    return modelFault('model-unavailable', message, { retry: 'again', ...details });
  if (status >= 500) {
    const text = String(error.message);
    if (unusableOutput.test(text))
      return modelFault('model-refused', message, { retry: 'again', ...details });
    const isOurs = /parse tool call arguments|json\.exception/i.test(text);
    return modelFault(isOurs ? 'model-refused' : 'model-unavailable', message, {
      retry: 'never',
      ...details,
    });
  }
  return modelFault('model-refused', message, { retry: 'never', ...details });
}

/** A connection that was not made, or broke. */
export function faultOfConnection(error: unknown, where: string, hasBegun: boolean): AppError {
  const errno = (error as NodeJS.ErrnoException).code ?? String(error);
  const what = hasBegun ? 'broke off' : 'could not be reached';
  return modelFault('model-unavailable', `the model server ${where} ${what}: ${errno}`, {
    retry: 'again',
    errno,
    cause: error,
  });
}

function errorBodyOf(body: unknown): ErrorBody {
  const error = (body as { error?: unknown } | undefined)?.error;
  if (typeof error === 'object' && error !== null) return error;
  return { message: typeof error === 'string' ? error : body };
}

function isOverflow({ type, code, n_prompt_tokens, n_ctx }: ErrorBody): boolean {
  if (type === 'exceed_context_size_error' || code === 'context_length_exceeded') return true;
  return typeof n_prompt_tokens === 'number' && typeof n_ctx === 'number' && n_prompt_tokens > n_ctx;
}

function describe(status: number, { message }: ErrorBody): string {
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? '');
  return `the model server answered ${status}: ${text.slice(0, messageCharactersMax)}`;
}
