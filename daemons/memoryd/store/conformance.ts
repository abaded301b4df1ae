/** What every engine must do, as one suite that any of them can run, a remote one included. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine, Operation, Range, Reader, Value } from './engine.ts';

export interface Candidate<V extends Value> {
  readonly name: string;
  /** A fresh, empty engine. */
  open(): Promise<Engine<V>>;
  /** The value that stands for a text in this engine. */
  value(text: string): V;
  text(value: V): string;
}

export function checkEngine<V extends Value>(candidate: Candidate<V>): void {
  for (const [promise, check] of Object.entries(promises)) {
    test(`${candidate.name}: ${promise}`, async () => {
      const engine = await candidate.open();
      try {
        await check(new Bench(candidate, engine));
      } finally {
        await engine.close();
      }
    });
  }
}

/** One engine under test, spoken to in texts. A reader may answer at once or later. */
class Bench {
  readonly engine: Engine<Value>;
  readonly #candidate: Candidate<Value>;

  constructor(candidate: unknown, engine: unknown) {
    this.#candidate = candidate as Candidate<Value>;
    this.engine = engine as Engine<Value>;
  }

  async put(entries: Record<string, string>, { sync = false } = {}): Promise<void> {
    await this.engine.write(this.#operations(Object.entries(entries)), { sync });
  }

  async del(...keys: string[]): Promise<void> {
    await this.write(...keys.map((key): [string, undefined] => [key, undefined]));
  }

  /** Puts, and deletes where there is no text. */
  async write(...entries: [key: string, text: string | undefined][]): Promise<void> {
    await this.engine.write(this.#operations(entries), { sync: false });
  }

  #operations(entries: [key: string, text: string | undefined][]): Operation<Value>[] {
    return entries.map(([key, text]) =>
      text === undefined ? { type: 'del', key } : { type: 'put', key, value: this.#candidate.value(text) },
    );
  }

  async get(key: string, from: Reader<Value> = this.engine): Promise<string | undefined> {
    return this.#text(await Promise.resolve(from.get(key)));
  }

  async getMany(keys: string[], from: Reader<Value> = this.engine): Promise<(string | undefined)[]> {
    return (await from.getMany(keys)).map((value) => this.#text(value));
  }

  async entries(range: Range, from: Reader<Value> = this.engine): Promise<[string, string | undefined][]> {
    const found: [string, string | undefined][] = [];
    for await (const page of from.range(range)) {
      for (const [key, value] of page) found.push([key, this.#text(value)]);
    }
    return found;
  }

  async keys(range: Range, from: Reader<Value> = this.engine): Promise<string[]> {
    return (await this.entries(range, from)).map(([key]) => key);
  }

  #text(value: Value | undefined): string | undefined {
    return value === undefined ? undefined : this.#candidate.text(value);
  }
}

const promises: Record<string, (bench: Bench) => Promise<void>> = {
  async 'what was put is got, and what was not is undefined'(bench) {
    await bench.put({ a: '1', b: 'two' });
    assert.equal(await bench.get('a'), '1');
    assert.equal(await bench.get('b'), 'two');
    assert.equal(await bench.get('c'), undefined);
  },

  async 'a later put replaces, a delete removes, a delete of nothing is no error'(bench) {
    await bench.put({ a: '1', b: '1' });
    await bench.put({ a: '2' });
    await bench.del('b', 'never there');
    assert.equal(await bench.get('a'), '2');
    assert.equal(await bench.get('b'), undefined);
  },

  async 'operations of one write apply in their order'(bench) {
    await bench.write(['a', '1'], ['a', undefined], ['b', '1'], ['b', '2'], ['c', undefined], ['c', '3']);
    assert.deepEqual(await bench.entries({}), [
      ['b', '2'],
      ['c', '3'],
    ]);
  },

  async 'an empty write is done at once'(bench) {
    await bench.put({});
    await bench.put({}, { sync: true });
    assert.deepEqual(await bench.entries({}), []);
  },

  async 'an empty value is a value'(bench) {
    await bench.put({ a: '' });
    assert.equal(await bench.get('a'), '');
    assert.deepEqual(await bench.entries({}), [['a', '']]);
  },

  async 'any well-formed text is the same when it comes back'(bench) {
    const texts = { 'k/é/日本/😀': 'v\u0000\n\u2028😀\u00e9e\u0301', 'k\u0001': '\ufeffx' };
    await bench.put(texts);
    for (const [key, text] of Object.entries(texts)) assert.equal(await bench.get(key), text);
  },

  async 'many keys are got in the order asked, missing ones included'(bench) {
    await bench.put({ a: '1', b: '2' });
    assert.deepEqual(await bench.getMany(['b', 'x', 'a', 'b']), ['2', undefined, '1', '2']);
    assert.deepEqual(await bench.getMany([]), []);
  },

  async 'a range is in the order of the UTF-8 bytes of its keys'(bench) {
    // By UTF-16 code units the emoji (a surrogate pair) would come before U+FF21.
    await bench.put({ '😀': '4', Ａ: '3', é: '2', z: '1', Z: '0' });
    assert.deepEqual(await bench.keys({}), ['Z', 'z', 'é', 'Ａ', '😀']);
  },

  async 'bounds include or exclude as they say'(bench) {
    await bench.put({ a: '', b: '', c: '', d: '' });
    assert.deepEqual(await bench.keys({ gte: 'b', lt: 'd' }), ['b', 'c']);
    assert.deepEqual(await bench.keys({ gt: 'b', lte: 'd' }), ['c', 'd']);
    assert.deepEqual(await bench.keys({ gte: 'd', lt: 'b' }), []);
    assert.deepEqual(await bench.keys({ gt: 'd' }), []);
  },

  async 'a limit counts from the end that the scan starts at'(bench) {
    await bench.put({ a: '', b: '', c: '', d: '' });
    assert.deepEqual(await bench.keys({ limit: 2 }), ['a', 'b']);
    assert.deepEqual(await bench.keys({ limit: 2, reverse: true }), ['d', 'c']);
    assert.deepEqual(await bench.keys({ gte: 'a', lt: 'c', limit: 5, reverse: true }), ['b', 'a']);
    assert.deepEqual(await bench.keys({ limit: 0 }), []);
  },

  async 'a long range comes whole, in pages, none of them empty'(bench) {
    const wanted: Record<string, string> = {};
    for (let i = 0; i < 5_000; i += 1) wanted[String(i).padStart(6, '0')] = `value ${i}`;
    await bench.put(wanted);

    const found: [string, string][] = [];
    let pages = 0;
    for await (const page of bench.engine.range({})) {
      pages += 1;
      assert.ok(page.length > 0);
      for (const [key] of page) found.push([key, (await bench.get(key)) ?? '']);
    }
    assert.deepEqual(Object.fromEntries(found), wanted);
    assert.ok(pages > 1);
  },

  async 'a loop that ends early leaves the engine usable'(bench) {
    await bench.put(Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, 'v'])));
    for await (const page of bench.engine.range({})) {
      assert.ok(page.length > 0);
      break;
    }
    await assert.rejects(async () => {
      for await (const page of bench.engine.range({})) throw new Error(`left at ${page.length > 0}`);
    }, /left at true/);
    await bench.put({ after: '1' });
    assert.equal(await bench.get('after'), '1');
  },

  async 'a snapshot does not see what was written after it'(bench) {
    await bench.put({ a: '1', b: '1' });
    const snapshot = bench.engine.snapshot();
    await bench.put({ a: '2', c: '2' });
    await bench.del('b');
    assert.equal(await bench.get('a', snapshot), '1');
    assert.deepEqual(await bench.getMany(['b', 'c'], snapshot), ['1', undefined]);
    assert.deepEqual(await bench.entries({}, snapshot), [
      ['a', '1'],
      ['b', '1'],
    ]);
    await snapshot.close();
    assert.deepEqual(await bench.keys({}), ['a', 'c']);
  },

  async 'a scan sees the moment it started, whatever is written meanwhile'(bench) {
    await bench.put(Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${10_000 + i}`, 'v'])));
    let seen = 0;
    let first = true;
    for await (const page of bench.engine.range({})) {
      if (first) await bench.put({ k99999: 'late' });
      first = false;
      seen += page.length;
    }
    assert.equal(seen, 3_000);
  },

  async 'flush, compact and size work on full and on empty ranges'(bench) {
    await bench.put({ a: 'x'.repeat(1_000) }, { sync: true });
    await bench.engine.flush();
    await bench.engine.compact({ start: 'a', end: 'b' });
    await bench.engine.compact({ start: 'x', end: 'y' });
    assert.ok((await bench.engine.size({ start: 'a', end: 'b' })) >= 0);
    assert.equal(await bench.engine.size({ start: 'x', end: 'y' }), 0);
    assert.equal((await bench.get('a'))?.length, 1_000);
  },

  async 'writes that were started are done when close returns'(bench) {
    const writes = [bench.put({ a: '1' }), bench.put({ b: '1' }, { sync: true })];
    await bench.engine.close();
    await Promise.all(writes);
  },
};
