/** loopctl acp and mcp: the two daemons for programs that speak over standard input and output. */
import { roleOption } from '../arguments.ts';
import type { Run } from '../command.ts';

export const acp: Run = async ({ home }) => {
  const { bridgeAcp } = await import('../acp.ts');
  await bridgeAcp({ socketPath: home.channelSocket, input: process.stdin, output: process.stdout });
};

export const mcp: Run = async ({ memory }, _args, options) => {
  const { serveMcp } = await import('../mcp.ts');
  const client = memory(options['role'] === undefined ? 'loop' : roleOption(options));
  await serveMcp({ call: (method, params) => client.call(method, params) });
};
