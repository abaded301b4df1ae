/** loopd's channel as a client: the Agent Client Protocol over its socket. */
import { connect } from 'node:net';
import { Readable, Writable } from 'node:stream';
import {
  client,
  ndJsonStream,
  RequestError,
  type ClientContext,
  type SessionNotification,
} from '@agentclientprotocol/sdk';
import { AppError, errorKinds, type ErrorCode } from '../../shared/errors.ts';
import { checkSocketPath } from '../../shared/socket-path.ts';

export type Update = SessionNotification;
export type PermissionAsk = (
  question: string,
  choices: { id: string; name: string }[],
) => Promise<string | undefined>;

export interface Channel {
  /** A request by its ACP name. @throws AppError with the daemon's code */
  request<R = Record<string, unknown>>(method: string, params: object): Promise<R>;
  notify(method: string, params: object): Promise<void>;
  /** Who hears the updates from now on. */
  onUpdate: ((update: Update) => void) | undefined;
  /** Who is asked for permission; nobody means no. */
  onAsk: PermissionAsk | undefined;
  close(): void;
}

/** @throws AppError loop-unavailable */
export async function openChannel(path: string): Promise<Channel> {
  checkSocketPath(path);
  const socket = await new Promise<ReturnType<typeof connect>>((resolve, reject) => {
    const opening = connect(path, () => resolve(opening));
    opening.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new AppError('loop-unavailable', `connect to ${path}: ${cause.code}`, {
          details: { errno: cause.code },
          cause,
        }),
      ),
    );
  });
  const hooks: Pick<Channel, 'onUpdate' | 'onAsk'> = { onUpdate: undefined, onAsk: undefined };
  const stream = ndJsonStream(Writable.toWeb(socket), Readable.toWeb(socket) as ReadableStream<Uint8Array>);
  const connection = client({ name: 'loopctl' })
    .onNotification('session/update', ({ params }) => hooks.onUpdate?.(params))
    .onRequest('session/request_permission', async ({ params }) => {
      const choices = params.options.map(({ optionId, name }) => ({ id: optionId, name }));
      const optionId = await hooks.onAsk?.(params.toolCall.title ?? 'Allow this tool call?', choices);
      return {
        outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
      };
    })
    .connect(stream);
  const channel = channelOf(connection.agent, hooks, () => socket.destroy());
  await channel.request('initialize', {
    protocolVersion: 1,
    clientCapabilities: {},
    clientInfo: { name: 'loopctl', version: '1' },
  });
  return channel;
}

function channelOf(
  agent: ClientContext,
  hooks: Pick<Channel, 'onUpdate' | 'onAsk'>,
  close: () => void,
): Channel {
  return Object.assign(hooks, {
    request: async <R>(method: string, params: object): Promise<R> => {
      try {
        return await agent.request<R>(method, params);
      } catch (thrown) {
        throw errorOf(thrown);
      }
    },
    notify: (method: string, params: object) => agent.notify(method, params),
    close,
  });
}

function errorOf(thrown: unknown): Error {
  if (!(thrown instanceof RequestError)) {
    return new AppError('loop-unavailable', 'loopd closed the channel', { cause: thrown });
  }
  const data = (thrown.data ?? {}) as Record<string, unknown>;
  const code = data['code'];
  if (typeof code !== 'string' || !Object.hasOwn(errorKinds, code)) return thrown;
  const { code: _code, runbook: _runbook, retryable: _retryable, ...details } = data;
  return new AppError(code as ErrorCode, thrown.message, { details });
}
