/** The slots of a llama-server: each keeps one prompt, a request reads what its slot does not hold, a busy slot is waited for. */
import { sharedTokens, tokensOf } from './fake-template.ts';

interface Slot {
  readonly id: number;
  text: Buffer;
  usedAt: number;
  isBusy: boolean;
  waiting: (() => void)[];
}

export interface Taken {
  readonly slot: number;
  readonly promptTokens: number;
  /** From the cache; one token at least is always read. */
  readonly cachedTokens: number;
}

/** A slot that holds so much of a prompt is preferred over the one that was used longest ago. */
const similarityMin = 0.1;

export class FakeSlots {
  readonly #slots: Slot[];
  #uses = 0;

  constructor(count: number) {
    this.#slots = Array.from({ length: count }, (_, id) => ({
      id,
      text: Buffer.alloc(0),
      usedAt: 0,
      isBusy: false,
      waiting: [],
    }));
  }

  get count(): number {
    return this.#slots.length;
  }

  state(): { id: number; is_processing: boolean }[] {
    return this.#slots.map(({ id, isBusy }) => ({ id, is_processing: isBusy }));
  }

  /** As if the server had been started anew. */
  clear(): void {
    for (const slot of this.#slots) slot.text = Buffer.alloc(0);
  }

  /** Waits for a slot and reads the prompt into it. An `id` that does not exist is no error to the server. */
  async take(prompt: string, id: unknown): Promise<Taken> {
    const text = Buffer.from(prompt);
    const slot = this.#slots.find((candidate) => candidate.id === id) ?? this.#choose(text);
    if (slot.isBusy) await new Promise<void>((resolve) => slot.waiting.push(resolve));
    slot.isBusy = true;
    this.#uses += 1;
    slot.usedAt = this.#uses;
    const promptTokens = tokensOf(text);
    const cachedTokens = Math.max(0, Math.min(sharedTokens(slot.text, text), promptTokens - 1));
    slot.text = text;
    return { slot: slot.id, promptTokens, cachedTokens };
  }

  /** `written` stands in the cache behind the prompt. */
  release(id: number, written: string): void {
    const slot = this.#slots[id]!;
    slot.text = Buffer.concat([slot.text, Buffer.from(written)]);
    slot.isBusy = false;
    slot.waiting.shift()?.();
  }

  #choose(text: Buffer): Slot {
    const free = this.#slots.filter(({ isBusy }) => !isBusy);
    const candidates = free.length > 0 ? free : this.#slots;
    const similar = candidates
      .map((slot) => ({ slot, share: sharedTokens(slot.text, text) / tokensOf(text) }))
      .filter(({ share }) => share > similarityMin)
      .toSorted((a, b) => b.share - a.share)[0];
    return similar?.slot ?? candidates.toSorted((a, b) => a.usedAt - b.usedAt)[0]!;
  }
}
