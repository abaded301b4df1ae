/** What a command of loopctl is, and what it is given to run with. */
import type { Config } from '../../shared/config.ts';
import type { Client } from '../../shared/client.ts';
import type { Home } from '../../shared/home.ts';
import type { MemorydProtocol } from '../../shared/protocol/memoryd.ts';
import type { Role } from '../../shared/protocol/method.ts';
import type { memorydSettings } from '../../shared/settings.ts';
import type { Channel } from './channel.ts';
import type { Output } from './output.ts';

export type Options = Readonly<Record<string, string | boolean | undefined>>;

export interface CommandContext {
  readonly home: Home;
  readonly config: Config<typeof memorydSettings>;
  readonly out: Output;
  /** memoryd on the socket of a role; the operator's where none is said. Opened at the first use. */
  readonly memory: (role?: Role) => Client<MemorydProtocol>;
  /** loopd's channel. @throws AppError loop-unavailable */
  readonly channel: () => Promise<Channel>;
  /** The whole of standard input. */
  readonly input: () => Promise<string>;
  /** Standard input as JSON; its shape is checked by who it is sent to. @throws ParamsError named `what` */
  readonly inputJson: <T>(what: string) => Promise<T>;
}

export type Run = (context: CommandContext, args: readonly string[], options: Options) => Promise<void>;

export interface Command {
  /** Words after `loopctl`: `memory add`. */
  readonly path: string;
  readonly group: 'people' | 'operators' | 'programs';
  readonly about: string;
  /** In commander's notation: `<text>`, `[file]`, `<words...>`. */
  readonly args?: string;
  readonly options?: readonly (readonly [flags: string, about: string])[];
  readonly example: string;
  /** Runs with the defaults where a settings file is wrong, because that is what it is to find. */
  readonly worksWithoutSettings?: true;
  /** The module is read only when the command runs, so that every other one starts quickly. */
  readonly load: () => Promise<Run>;
}
