/** A GET of a model server, over TCP or a Unix socket, that does not wait for long. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

const waitMs = 3000;
const bodyCharsMax = 4 * 1024 * 1024;

/** @returns why there was no answer, as text */
export function getJson(url: string, path: string): Promise<{ status: number; body: unknown } | string> {
  return new Promise((resolve) => {
    const take = (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        if (text.length < bodyCharsMax) text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }));
      response.once('error', (error) => resolve(error.message));
    };
    try {
      const options = { timeout: waitMs, headers: { accept: 'application/json' } };
      const sent = url.startsWith('unix:')
        ? httpRequest({ socketPath: url.slice('unix:'.length), path, ...options }, take)
        : (url.startsWith('https:') ? httpsRequest : httpRequest)(
            new URL(url.replace(/\/$/, '') + path),
            options,
            take,
          );
      sent.once('timeout', () => sent.destroy(new Error(`nothing within ${waitMs} ms`)));
      sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end();
    } catch (thrown) {
      resolve((thrown as Error).message);
    }
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
