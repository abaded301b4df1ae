/** The people that channels have named, by number; a turn keeps only the number. */

/** A turn keeps its speaker in 16 bits. Beyond this many names a speaker stays unnamed in ranking. */
const namesMax = 65_535;

export class SpeakerNames {
  readonly #names: string[] = [''];
  readonly #numbers = new Map<string, number>();

  get count(): number {
    return this.#numbers.size;
  }

  nameOf(number: number): string | undefined {
    return this.#names[number] || undefined;
  }

  /** @returns 0 for a name that is unknown. */
  numberOf(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  /** @returns the number, and whether the name is new. */
  assign(name: string): { number: number; isNew: boolean } {
    const known = this.#numbers.get(name);
    if (known !== undefined) return { number: known, isNew: false };
    if (this.#names.length > namesMax) return { number: 0, isNew: false };
    this.#names.push(name);
    this.#numbers.set(name, this.#names.length - 1);
    return { number: this.#names.length - 1, isNew: true };
  }

  /** The number stays taken, as long as the index is open. */
  forget(number: number): void {
    this.#numbers.delete(this.#names[number] ?? '');
    this.#names[number] = '';
  }

  load(number: number, value: Uint8Array): void {
    const name = Buffer.from(value).toString('utf8');
    this.#names[number] = name;
    this.#numbers.set(name, number);
  }

  *entries(): Iterable<[number: number, name: string]> {
    for (const [name, number] of this.#numbers) yield [number, name];
  }
}
