/**
 * Goal: whatever happens to the process or the disk, the index holds what it held before or after, or says that it
 * cannot. Method: a small engine that fails at a chosen write, then the same index opened over what was left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../store/engine.ts';
import { openMemory } from '../../store/memory-engine.ts';
import type { Item, SessionFacts } from '../item.ts';
import { RecallIndex } from '../recall-index.ts';
import { ask, chat, indexOver, MapTexts, session } from '../testing.ts';
import { OtherFormat } from './format.ts';
import { IndexDamage } from './damage.ts';
import { keys } from './keys.ts';
import { blockTurns } from './manifest.ts';

type IndexEngine = Engine<Uint8Array>;

/** Fails at a write and from then on, as a process that was killed does. */
function dyingAt(engine: IndexEngine, writesLeft: number): IndexEngine {
  let left = writesLeft;
  return {
    ...engine,
    write: async (operations, options) => {
      left -= 1;
      if (left < 0) throw new Error('killed');
      return engine.write(operations, options);
    },
  };
}

const texts = new MapTexts();
const over = (engine: IndexEngine) => RecallIndex.over(engine, { texts, nowMs: () => 0, timeZone: 'UTC' });

/** Short texts of few words, in sessions that grow by turns. */
function history(turns: number): { facts: SessionFacts; items: Item[] }[] {
  const perAppend = 64;
  return Array.from({ length: Math.ceil(turns / perAppend) }, (_, part) => {
    const facts = session(`s${part % 5}`, { origin: part % 5 === 4 ? 'agent' : 'person' });
    const items = chat(
      ...Array.from({ length: perAppend }, (_, at) => `word${(part * 7 + at) % 90} of ${at % 9}`),
    );
    const moved = items.map((item) => ({ ...item, record: item.record + part * perAppend }));
    texts.put(facts, moved);
    return { facts, items: moved };
  });
}

async function feed(index: RecallIndex, parts: ReturnType<typeof history>): Promise<void> {
  for (const { facts, items } of parts) {
    const key = `log ${facts.id}`;
    await index.append(facts, items, { key, value: String(items.at(-1)!.record) });
  }
  await index.settle();
}

test('a kill at any write leaves the state before or after it, and feeding again makes it whole without doubles', async () => {
  const parts = history(blockTurns + 200);
  const whole = await indexOver(texts);
  await feed(whole, parts);
  const wanted = await whole.fingerprint();
  const writes = parts.length + 8;
  for (let killAt = 1; killAt < writes; killAt += killAt < parts.length - 2 ? 31 : 1) {
    const engine = await openMemory({ encoding: 'binary' });
    const dying = await over(dyingAt(engine, killAt));
    await feed(dying, parts).catch(() => {});

    const index = await over(engine);
    const last = Number(index.progress('log s0') ?? 0);
    const { hits } = await ask(index, '', { session: 's0', limit: 1, order: 'newest' });
    assert.equal(hits[0]?.record ?? 0, last, `the progress is that of the items after write ${killAt}`);
    await feed(index, parts);

    assert.equal(await index.fingerprint(), wanted, `after a kill at write ${killAt}`);
    await index.close();
  }
});

test('the fingerprint does not depend on how the index came about, and sees one word more', async () => {
  const parts = history(blockTurns + 200);
  const one = await indexOver(texts);
  await feed(one, parts);
  const other = await indexOver(texts);
  for (const { facts, items } of parts) for (const item of items) await other.append(facts, [item]);

  assert.equal(await one.fingerprint(), await other.fingerprint());
  const [{ facts, items }] = parts as [(typeof parts)[0]];
  await other.append(facts, [{ ...items[0]!, record: 1_000_000, text: 'more' }]);
  assert.notEqual(await one.fingerprint(), await other.fingerprint());
});

test('what was forgotten leaves no key and no value behind, sealed or not', async () => {
  const engine = await openMemory({ encoding: 'binary' });
  const index = await over(engine);
  const secret = session('zanzibar');
  const items = chat('the zanzibar plan', 'quokka').map((item) => ({ ...item, name: 'Zanzibella' }));
  await index.append(secret, items);
  await feed(index, history(blockTurns + 10));
  const later = items.map((item) => ({ ...item, record: item.record + 10 }));
  await index.append(secret, later);

  assert.equal(await index.forget(secret), 4);

  for await (const page of engine.range({})) {
    for (const [key, value] of page) {
      assert.doesNotMatch(`${key} ${Buffer.from(value).toString('latin1')}`, /zanzib|quokka/i);
    }
  }
  const again = await over(engine);
  assert.deepEqual((await ask(again, 'zanzibar quokka')).hits, []);
  assert.equal(await again.fingerprint(), await indexed(history(blockTurns + 10)));
});

async function indexed(parts: ReturnType<typeof history>): Promise<string> {
  const index = await indexOver(texts);
  await feed(index, parts);
  return index.fingerprint();
}

test('a damaged list is told, and the rest answers', async () => {
  const engine = await openMemory({ encoding: 'binary' });
  const told: unknown[] = [];
  const index = await RecallIndex.over(engine, {
    texts,
    nowMs: () => 0,
    timeZone: 'UTC',
    onDamage: (error) => told.push(error),
  });
  await feed(index, history(blockTurns));
  await engine.write([{ type: 'put', key: keys.postings(0, 'word7'), value: Buffer.from([255]) }], {
    sync: false,
  });

  const { hits, index: state } = await ask(index, 'word7 word8');

  assert.ok(hits.length > 0);
  assert.equal(state.state, 'damaged');
  assert.ok(told[0] instanceof IndexDamage);
});

test('an index with a part missing or changed is refused, not served', async () => {
  const engine = await openMemory({ encoding: 'binary' });
  const index = await over(engine);
  await feed(index, history(blockTurns + 64));
  await index.settle();
  const broken = [keys.attributes(0), keys.session(1), keys.turn(blockTurns), keys.meta('manifest')];
  for (const key of broken) {
    const value = engine.get(key)!;
    await engine.write([{ type: 'del', key }], { sync: false });
    await assert.rejects(over(engine), IndexDamage, `without ${key}`);
    await engine.write([{ type: 'put', key, value: value.subarray(1) }], { sync: false });
    await assert.rejects(over(engine), IndexDamage, `with ${key} cut`);
    await engine.write([{ type: 'put', key, value }], { sync: false });
  }
  await (await over(engine)).close();
});

test('an index of another version is refused by name', async () => {
  const engine = await openMemory({ encoding: 'binary' });
  await engine.write([{ type: 'put', key: keys.meta('format'), value: Buffer.from('{"layout":0}') }], {
    sync: true,
  });

  await assert.rejects(over(engine), OtherFormat);
});

test('progress is kept with the items it speaks of, and an empty one is none', async () => {
  const index = await indexOver(texts);
  const facts = session('p');
  await index.append(facts, chat('one'), { key: 'log p', value: '1' });
  await index.append(facts, [], { key: 'log q', value: '2' });

  assert.equal(index.progress('log p'), '1');
  assert.deepEqual(await index.progressKeys('log '), ['log p', 'log q']);
  await index.append(facts, [], { key: 'log p', value: '' });
  assert.equal(index.progress('log p'), undefined);
});
