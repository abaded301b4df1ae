/** The engine in memory, for tests and benches: nothing of it outlives the process. */
import { MemoryLevel } from 'memory-level';
import { engineOver, type Database } from './database-engine.ts';
import type { Engine, Value } from './engine.ts';

export function openMemory(options: { encoding: 'text' }): Promise<Engine<string>>;
export function openMemory(options: { encoding: 'binary' }): Promise<Engine<Uint8Array>>;
export async function openMemory({
  encoding,
}: {
  encoding: 'text' | 'binary';
}): Promise<Engine<string> | Engine<Uint8Array>> {
  const level = new MemoryLevel<string, Value>({
    keyEncoding: 'utf8',
    valueEncoding: encoding === 'text' ? 'utf8' : 'buffer',
  });
  await level.open();
  return encoding === 'text' ? engineOf<string>(level) : engineOf<Uint8Array>(level);
}

function engineOf<V extends Value>(level: unknown): Engine<V> {
  return engineOver<V>(level as Database<V>, {
    flush: async () => {},
    compact: async () => {},
    size: async () => 0,
    closed: () => {},
  });
}
