/** The journal's catalogue, made from the runbook: what `journalctl -x` prints under a failure. */
import { errorKinds, type ErrorCode } from '../../shared/errors.ts';
import { messageIdOf } from '../../shared/journal.ts';
import type { Entry } from './entry.ts';

/** Where an installation keeps the entries. */
const installedRunbook = '/usr/share/doc/loopkeep/runbook';

/** Entries need a blank line between them, or systemd runs them together. */
export function catalogOf(entries: readonly Entry[]): string {
  const known = entries.filter(({ name }) => Object.hasOwn(errorKinds, name));
  return `# Made from runbook/*.md by \`make catalog\`; change the entries, not this file.\n\n${known
    .map(catalogEntry)
    .join('\n')}`;
}

function catalogEntry({ name, sections }: Entry): string {
  const code = name as ErrorCode;
  return [
    `-- ${messageIdOf(code)}`,
    `Subject: ${code}: ${errorKinds[code].meaning}`,
    'Defined-By: loopkeep',
    `Documentation: file://${installedRunbook}/${code}.md`,
    '',
    plain(sections.get('Meaning') ?? ''),
    '',
    plain(sections.get('Impact') ?? ''),
    '',
    `What to do: loopctl explain ${code}`,
    '',
  ].join('\n');
}

/** Markdown as a terminal shows it; systemd would fill in whatever stands between @ signs. */
function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*@]/g, '')
    .trim();
}
