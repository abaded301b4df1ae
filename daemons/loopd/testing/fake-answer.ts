/** JSON answers of the fake model server. */
import type { ServerResponse } from 'node:http';

/** Returns the bytes of the body. */
export function sendJson(response: ServerResponse, status: number, value: unknown): number {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
  });
  response.end(body);
  return body.length;
}
