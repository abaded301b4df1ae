/** The smallest client there can be: lines out, lines in, so many in flight; what is measured is the other end. */
import { connect, type Socket } from 'node:net';

const lineFeed = 0x0a;

export class LinePipe {
  readonly #socket: Socket;
  #bytes = 0;
  #onReply: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) {
        this.#onReply?.();
      }
    });
  }

  static open(path: string): Promise<LinePipe> {
    return new Promise((resolve, reject) => {
      const socket = connect(path, () => resolve(new LinePipe(socket)));
      socket.once('error', reject);
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sends `count` lines, `inFlight` at a time. @returns the milliseconds that each took, in order of the replies */
  run(
    line: (at: number) => string,
    { count, inFlight }: { count: number; inFlight: number },
  ): Promise<number[]> {
    return new Promise((resolve) => {
      const began: number[] = [];
      const took: number[] = [];
      let sent = 0;
      const send = () => {
        began.push(performance.now());
        this.#socket.write(line(sent));
        sent += 1;
      };
      this.#onReply = () => {
        took.push(performance.now() - (began[took.length] ?? 0));
        if (took.length === count) {
          this.#onReply = undefined;
          resolve(took);
        } else if (sent < count) send();
      };
      while (sent < Math.min(inFlight, count)) send();
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
