/**
 * Recorded answers of a real llama-server, read by read: `[12.3 ms, 45 B]`, then the bytes, a CR LF shown as `\r\n`.
 * Played back from a socket, they reach a client as they reached the first one.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const header = /^\[[\d.]+ ms, (\d+) B\]\n/m;

export async function readTranscript(name: string): Promise<Buffer[]> {
  const reads: Buffer[] = [];
  let rest = await readFile(new URL(`transcripts/${name}.txt`, import.meta.url), 'utf8');
  for (let found = header.exec(rest); found; found = header.exec(rest)) {
    rest = rest.slice(found.index + found[0].length);
    const bytes = Buffer.from(rest.replaceAll('\\r\\n\n', '\r\n')).subarray(0, Number(found[1]));
    reads.push(bytes);
    rest = rest.slice(bytes.toString().replaceAll('\r\n', '\\r\\n\n').length);
  }
  return reads;
}

/** A server that knows one answer to a chat request, byte for byte, and ends the connection behind it. */
export class Playback {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(reads: readonly Buffer[]): Promise<Playback> {
    const server = createServer((socket) => void play(socket, reads).catch(() => socket.destroy()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Playback(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
  }
}

async function play(socket: Socket, reads: readonly Buffer[]): Promise<void> {
  socket.setNoDelay(true);
  const [request] = (await once(socket, 'data')) as [Buffer];
  if (!request.toString().startsWith('POST')) {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
    return;
  }
  for (const bytes of reads) {
    socket.write(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
}
