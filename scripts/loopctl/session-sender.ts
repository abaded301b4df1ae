/** Session logs on their way to loopd, byte for byte, in pieces that fit a message whatever the length of a line. */
import type { Channel } from './channel.ts';

/** Characters of one piece: as JSON text it stays well below the limit of a message. */
const pieceCharsMax = 1024 * 1024;

export class SessionSender {
  readonly totals = { sessions: 0, known_sessions: 0 };
  readonly #channel: () => Promise<Pick<Channel, 'request'>>;
  #id: string | undefined;
  #text = '';
  #offset = 0;
  /** loopd has it: the rest of it is passed over. */
  #isKnown = false;

  constructor(channel: () => Promise<Pick<Channel, 'request'>>) {
    this.#channel = channel;
  }

  /** Lines of one session come one after another. */
  async add(id: string, line: string): Promise<void> {
    if (this.#id !== id) {
      await this.end();
      this.#id = id;
    }
    if (this.#isKnown) return;
    this.#text += `${line}\n`;
    while (this.#text.length > pieceCharsMax && !this.#isKnown) {
      const cut = /[\uD800-\uDBFF]/.test(this.#text[pieceCharsMax - 1] ?? '')
        ? pieceCharsMax - 1
        : pieceCharsMax;
      const piece = this.#text.slice(0, cut);
      this.#text = this.#text.slice(cut);
      await this.#send(piece, true);
    }
  }

  async end(): Promise<void> {
    if (this.#id !== undefined && !this.#isKnown) await this.#send(this.#text, false);
    if (this.#isKnown) this.totals.known_sessions += 1;
    else if (this.#id !== undefined) this.totals.sessions += 1;
    this.#id = undefined;
    this.#text = '';
    this.#offset = 0;
    this.#isKnown = false;
  }

  async #send(text: string, more: boolean): Promise<void> {
    const channel = await this.#channel();
    const { known = [] } = await channel.request<{ known?: string[] }>('_loopkeep/import', {
      sessions: [{ id: this.#id, text, offset: this.#offset, more }],
    });
    this.#offset += Buffer.byteLength(text);
    this.#isKnown = known.length > 0;
  }
}
