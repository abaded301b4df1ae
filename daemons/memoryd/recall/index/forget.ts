/** Takes turns out of the index: gone from every answer at once, from the disk when upkeep has rewritten what held them. */
import type { Container } from '../item.ts';
import { blockTurns } from './manifest.ts';
import { keys } from './keys.ts';
import { pageTurns } from './places.ts';
import { writeSession } from './sessions.ts';
import { writeTailTurn } from './tail.ts';
import type { IndexOperation, TurnIndex } from './turn-index.ts';
import { writeAttributes } from './columns.ts';
import { meaningsOperation, pageOperation } from './upkeep.ts';

/** @returns how many records there were. */
export async function forgetSession(index: TurnIndex, container: Container): Promise<number> {
  const session = index.sessions.find(container);
  if (session === undefined) return 0;
  const turns = index.turnsOf(session);
  const records = countRecords(index, turns);
  index.sessions.forget(session);
  const operations = killTurns(index, turns);
  operations.push({ type: 'put', key: keys.session(session.number), value: writeSession(session) });
  await index.engine.write(operations, { sync: true });
  return records;
}

/** @returns how many of the records there were. */
export async function forgetRecords(
  index: TurnIndex,
  container: Container,
  records: readonly number[],
): Promise<number> {
  const session = index.sessions.find(container);
  if (session === undefined) return 0;
  const wanted = new Set(records);
  const turns = index.turnsOf(session).filter((turn) => wanted.has(index.placeOf(turn)?.record ?? -1));
  if (turns.length === 0) return 0;
  const count = countRecords(index, turns);
  await index.engine.write(killTurns(index, turns), { sync: true });
  return count;
}

function countRecords(index: TurnIndex, turns: readonly number[]): number {
  return new Set(turns.map((turn) => index.placeOf(turn)?.record)).size;
}

/** Takes the turns out of memory. @returns what takes them off the disk. */
function killTurns(index: TurnIndex, turns: readonly number[]): IndexOperation[] {
  const { speaker } = index.columns;
  const speakers = new Set(turns.map((turn) => speaker[turn]!));
  index.kill(turns);
  const operations = deathOperations(index, turns);
  operations.push({ type: 'put', key: keys.meta('forgot'), value: new Uint8Array() });
  for (const number of speakers) {
    if (number === 0 || speaker.includes(number)) continue;
    index.names.forget(number);
    operations.push({ type: 'del', key: keys.name(number) });
  }
  return operations;
}

/** Replaces what the disk says of the dead: whole blocks and pages where they are sealed, else their own keys. */
function deathOperations(index: TurnIndex, turns: readonly number[]): IndexOperation[] {
  const operations: IndexOperation[] = [];
  const sealed = turns.filter((turn) => turn < index.tail.first);
  for (const block of new Set(sealed.map((turn) => Math.floor(turn / blockTurns)))) {
    const value = writeAttributes(index.columns, block * blockTurns, (block + 1) * blockTurns);
    operations.push({ type: 'put', key: keys.attributes(block), value });
    operations.push(meaningsOperation(index, block));
  }
  for (const page of new Set(sealed.map((turn) => Math.floor(turn / pageTurns)))) {
    operations.push(pageOperation(index, page));
  }
  for (const turn of turns.filter((turn) => turn >= index.tail.first)) {
    operations.push({ type: 'put', key: keys.turn(turn), value: deadTurn(index, turn) });
  }
  return operations;
}

/** Only its place in the numbering is kept. */
function deadTurn({ columns, meanings }: TurnIndex, turn: number): Uint8Array {
  return writeTailTurn({
    session: columns.session[turn]!,
    flags: columns.flags[turn]!,
    length: 0,
    speaker: 0,
    atMs: 0,
    record: 0,
    start: 0,
    locator: '',
    terms: new Map(),
    meaning: meanings.packedOf(turn),
  });
}
