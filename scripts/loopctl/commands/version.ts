/** loopctl version: its own and, where they answer, the daemons'. */
import { version as own } from '../../../shared/version.ts';
import type { Run } from '../command.ts';

export const version: Run = async ({ out, memory, channel }) => {
  const ask = async (get: () => Promise<{ version: string }>) => {
    try {
      return (await get()).version;
    } catch {
      // A daemon that is down has no version to tell; that is an answer here.
      return null;
    }
  };
  const [memoryd, loopd] = await Promise.all([
    ask(() => memory().call('status', {}, { timeoutMs: 2000 })),
    ask(async () => (await channel()).request<{ version: string }>('_loopkeep/status', {})),
  ]);
  out.result({ loopctl: own, memoryd, loopd, node: process.version }, () =>
    [
      `loopctl ${own}`,
      `memoryd ${memoryd ?? 'does not answer'}`,
      `loopd   ${loopd ?? 'does not answer'}`,
      `node    ${process.version}`,
    ].join('\n'),
  );
};
