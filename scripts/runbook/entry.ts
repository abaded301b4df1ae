/** One entry of the runbook, read into its parts: what is stated of the code, its sections, its commands. */

export const sectionNames = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation', 'Verification'] as const;
export type SectionName = (typeof sectionNames)[number];

/** A block of commands that a person types, and that the runbook's own test types too. */
export interface RunBlock {
  readonly section: string;
  /** Line in the file, counted from one. */
  readonly line: number;
  readonly commands: string;
  readonly expect: Expectation;
}

export interface Expectation {
  /** Exit status of the whole block. */
  readonly status: number;
  /** Regular expressions; each matches a line of the output, in this order. */
  readonly lines: readonly string[];
}

export interface Entry {
  /** The name of its file without `.md`. */
  readonly name: string;
  readonly title: string;
  readonly stated: Readonly<Record<string, string>>;
  /** Headings in their order, each with its text. */
  readonly sections: ReadonlyMap<string, string>;
  readonly blocks: readonly RunBlock[];
  /** Entries that this one points at. */
  readonly references: readonly string[];
}

const statedPattern = /^---\n(?<stated>.*?)\n---\n/s;
const expectedStatusPattern = /^expect(?: rc=(?<status>\d{1,3}))?$/;
const linkPattern = /\]\((?<name>[a-z-]+)\.md\)/g;

/** @throws Error, naming file and line, where a fence never closes or an output belongs to no command */
export function parseEntry(name: string, text: string): Entry {
  const stated = statedPattern.exec(text);
  const lines = text.split('\n');
  return {
    name,
    title: /^# (.*)$/m.exec(text)?.[1] ?? '',
    stated: Object.fromEntries(
      (stated?.groups?.['stated'] ?? '').split('\n').map((line) => {
        const [key = '', ...value] = line.split(':');
        return [key.trim(), value.join(':').trim()];
      }),
    ),
    sections: sectionsOf(lines),
    blocks: blocksOf(name, lines),
    references: [...text.matchAll(linkPattern)].map(({ groups }) => groups?.['name'] ?? ''),
  };
}

function sectionsOf(lines: readonly string[]): Map<string, string> {
  const sections = new Map<string, string>();
  let heading: string | undefined;
  let isFenced = false;
  for (const line of lines) {
    if (line.startsWith('```')) isFenced = !isFenced;
    if (!isFenced && line.startsWith('## ')) {
      heading = line.slice('## '.length).trim();
      sections.set(heading, '');
    } else if (heading !== undefined) sections.set(heading, `${sections.get(heading)}${line}\n`);
  }
  return new Map([...sections].map(([key, value]) => [key, value.trim()]));
}

interface Fence {
  readonly info: string;
  readonly section: string;
  readonly line: number;
  readonly body: string[];
}

function blocksOf(name: string, lines: readonly string[]): RunBlock[] {
  const blocks: RunBlock[] = [];
  for (const { info, section, line, body } of fencesOf(name, lines)) {
    const expected = expectedStatusPattern.exec(info);
    if (info === 'sh run') {
      blocks.push({ section, line, commands: body.join('\n'), expect: { status: 0, lines: [] } });
    } else if (expected !== null) {
      const block = blocks.pop();
      if (block === undefined || block.expect.lines.length > 0) {
        throw new Error(`${name}.md:${line}: an output that belongs to no command`);
      }
      const status = Number(expected.groups?.['status'] ?? 0);
      blocks.push({ ...block, expect: { status, lines: body.filter((text) => text.trim() !== '') } });
    } else if (info !== 'text') {
      throw new Error(
        `${name}.md:${line}: a fence is "sh run", "expect", "expect rc=N" or "text", not "${info}"`,
      );
    }
  }
  return blocks;
}

function fencesOf(name: string, lines: readonly string[]): Fence[] {
  const fences: Fence[] = [];
  let section = '';
  let open: Fence | undefined;
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('```') && open !== undefined) {
      fences.push(open);
      open = undefined;
    } else if (open !== undefined) open.body.push(line);
    else if (line.startsWith('```')) open = { info: line.slice(3).trim(), section, line: at + 1, body: [] };
    else if (line.startsWith('## ')) section = line.slice('## '.length).trim();
  }
  if (open !== undefined) throw new Error(`${name}.md:${open.line}: a fence that never closes`);
  return fences;
}
