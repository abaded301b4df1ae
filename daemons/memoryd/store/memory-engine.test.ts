/** The engine in memory keeps every promise of an engine, with both kinds of values. */
import { checkEngine } from './conformance.ts';
import { openMemory } from './memory-engine.ts';

checkEngine<string>({
  name: 'memory, text',
  open: () => openMemory({ encoding: 'text' }),
  value: (text) => text,
  text: (value) => value,
});

checkEngine<Uint8Array>({
  name: 'memory, binary',
  open: () => openMemory({ encoding: 'binary' }),
  value: (text) => new TextEncoder().encode(text),
  text: (value) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(value),
});
