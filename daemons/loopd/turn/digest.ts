/** Old turns as one text: what was said, and of each tool call one line. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { argumentsText } from '../session/prompt.ts';
import { capResult } from './cap-result.ts';

const head = '[The beginning of this conversation, shortened to fit. Results of tools are left out.]';
const messageBytesMax = 2048;
const argumentsBytesMax = 200;
const heading = /^## Turn (\d+)$/;

/** Lines by the number of their turn, oldest first. */
export type Sections = Map<number, string[]>;

/** The sections of a digest that was made before. Texts are indented, so no text can look like a heading. */
export function readDigest(text: string): Sections {
  const sections: Sections = new Map();
  let lines: string[] | undefined;
  for (const line of text.split('\n')) {
    const turn = heading.exec(line)?.[1];
    if (turn !== undefined) sections.set(Number(turn), (lines = []));
    else lines?.push(line);
  }
  return sections;
}

export function writeDigest(sections: Sections, firstTurn: number): string {
  const first = sections.keys().next().value;
  const gone = first === undefined || first > firstTurn ? [leftOut(firstTurn, first)] : [];
  return [head, ...gone, ...[...sections].flatMap(([turn, lines]) => [`## Turn ${turn}`, ...lines])].join(
    '\n',
  );
}

function leftOut(from: number, first: number | undefined): string {
  if (first === undefined) return '[All earlier turns are left out.]';
  return from === first - 1 ? `[Turn ${from} is left out.]` : `[Turns ${from} to ${first - 1} are left out.]`;
}

/** Adds the records of finished steps; `isWhole` keeps the person's text uncut, for the turn that is still running. */
export function addToDigest(sections: Sections, records: readonly SessionRecord[], isWhole = false): void {
  const results = new Map(
    records.flatMap((record) => (record.type === 'result' ? [[record.call, record] as const] : [])),
  );
  for (const record of records) {
    if (record.type !== 'turn' && record.type !== 'assistant') continue;
    const lines = sections.get(record.turn) ?? [];
    sections.set(record.turn, lines);
    if (record.type === 'turn') {
      lines.push(
        said(record.name ?? 'Person', isWhole ? record.text : capResult(record.text, messageBytesMax).text),
      );
      continue;
    }
    if (record.text.trim() !== '')
      lines.push(said(record.name ?? 'Assistant', capResult(record.text, messageBytesMax).text));
    for (const call of record.calls ?? []) {
      const result = results.get(call.id);
      const args = capResult(argumentsText(call), argumentsBytesMax).text.replaceAll('\n', ' ');
      lines.push(
        `Tool ${call.name}(${args}): ${result?.status ?? 'interrupted'}, ${result?.bytes ?? 0} bytes`,
      );
    }
  }
}

function said(who: string, text: string): string {
  return `${who}: ${text.replaceAll('\n', '\n  ')}`;
}
