/** loopctl completion: what a shell offers after TAB, from the table of commands. */
import { errorKinds } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { kindNames } from '../../../shared/protocol/records.ts';
import type { Run } from '../command.ts';
import { commands } from '../commands.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const optionsOf = (flags: string) => flags.split(/[ ,]+/).filter((word) => word.startsWith('--'));
const everywhere = ['--home', '--config', '--json', '--help'];

/** Words that may follow a path: its sub-commands, or the values that its first argument takes. */
function wordsAfter(path: string): string[] {
  const depth = path === '' ? 0 : path.split(' ').length;
  const below = commands
    .map((command) => command.path.split(' '))
    .filter((words) => words.slice(0, depth).join(' ') === path && words.length > depth);
  const values =
    path === 'explain' ? Object.keys(errorKinds) : /^record (put|get|list)$/.test(path) ? kindNames : [];
  return [...new Set([...below.map((words) => words[depth] ?? ''), ...values])];
}

function optionsAfter(path: string): string[] {
  const command = commands.find((known) => known.path === path);
  return [...(command?.options ?? []).flatMap(([flags]) => optionsOf(flags)), ...everywhere];
}

function paths(): string[] {
  const all = commands.flatMap(({ path }) =>
    path.split(' ').map((_, at, words) => words.slice(0, at).join(' ')),
  );
  return [...new Set([...all, ...commands.map(({ path }) => path)])];
}

const scripts: Readonly<Record<Shell, () => string>> = {
  bash: () => {
    const cases = paths().map(
      (path) => `    "${path}") words="${[...wordsAfter(path), ...optionsAfter(path)].join(' ')}" ;;`,
    );
    return `_loopctl() {
  local path="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  while :; do
    case "$path" in
${cases.join('\n')}
    esac
    [ -n "$words" ] || [ -z "$path" ] && break
    case "$path" in *" "*) path="\${path% *}" ;; *) path="" ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _loopctl loopctl`;
  },
  zsh: () => `#compdef loopctl\nautoload -U +X bashcompinit && bashcompinit\n${scripts.bash()}`,
  fish: () =>
    commands
      .map(({ path, about }) => {
        const words = path.split(' ');
        const seen = words.slice(0, -1).map((word) => `__fish_seen_subcommand_from ${word}`);
        const when = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
        return `complete -c loopctl -f -n "${when}" -a ${words.at(-1)} -d "${about.replaceAll('"', "'")}"`;
      })
      .join('\n'),
};

// oxlint-disable-next-line require-await -- a command is asynchronous
export const completion: Run = async ({ out }, [shell]) => {
  const known = shells.find((name) => name === shell);
  if (known === undefined) throw new ParamsError('shell', `SHELL is one of ${shells.join(', ')}`, shell);
  out.line(scripts[known]());
};
