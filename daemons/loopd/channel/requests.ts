/** What each of the protocol's requests does. */
import type {
  CloseSessionRequest,
  DeleteSessionRequest,
  InitializeResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  McpServer,
  NewSessionRequest,
  NewSessionResponse,
  PromptRequest,
  PromptResponse,
  ResumeSessionRequest,
} from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { Origin } from '../../../shared/protocol/sessions.ts';
import { version } from '../../../shared/version.ts';
import { isCursor, type Sessions } from '../session/sessions.ts';
import type { LiveSession, Watcher } from './live-session.ts';
import type { LiveSessions } from './live-sessions.ts';
import { promptReply } from './prompt-reply.ts';
import { promptText } from './prompt-text.ts';
import type { SessionTools } from './session-tools.ts';

export interface ChannelParts {
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  readonly tools: SessionTools;
  readonly model: { readonly kind: string; readonly name: string };
  /** @throws AppError memory-unavailable, baseline-unreadable, baseline-too-large */
  readonly create: (origin: Origin) => Promise<{ id: string; meta: Record<string, unknown> }>;
}

const protocolVersion = 1;
const origins: readonly Origin[] = ['person', 'schedule', 'agent'];

export async function initialize({ tools, model }: ChannelParts): Promise<InitializeResponse> {
  return {
    protocolVersion,
    agentInfo: { name: 'loopd', title: 'loopkeep', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: false, audio: false, embeddedContext: true },
      mcpCapabilities: { http: tools.takesClientServers, sse: false },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
    authMethods: [],
    _meta: { model: model.kind, model_name: model.name },
  };
}

export async function newSession(
  { create, tools, live }: ChannelParts,
  { mcpServers, _meta }: NewSessionRequest,
  client: Watcher,
): Promise<NewSessionResponse> {
  const { id, meta } = await create(originOf(_meta));
  const servers = await tools.take(id, mcpServers);
  await live.with(id, async (one) => one.watch(client));
  return { sessionId: id, _meta: { ...meta, ...servers } };
}

export function loadSession(
  parts: ChannelParts,
  { sessionId, mcpServers }: LoadSessionRequest,
  client: Watcher,
) {
  return useSession(parts, { sessionId, mcpServers }, (live) => live.replayTo(client));
}

export function resumeSession(
  parts: ChannelParts,
  { sessionId, mcpServers = [] }: ResumeSessionRequest,
  client: Watcher,
) {
  return useSession(parts, { sessionId, mcpServers }, async (live) => live.watch(client));
}

/** @throws AppError session-unknown, session-damaged */
function useSession(
  { live, tools }: ChannelParts,
  { sessionId, mcpServers }: { sessionId: string; mcpServers: McpServer[] },
  use: (live: LiveSession) => Promise<void>,
): Promise<{ _meta: Record<string, unknown> }> {
  return live.with(sessionId, async (one) => {
    // Opening it comes first: it says whether there is such a session, and goes on with a turn that was broken off.
    await one.resume();
    const servers = await tools.take(sessionId, mcpServers);
    await use(one);
    const { runningTurn } = one;
    return { _meta: { ...servers, ...(runningTurn === undefined ? {} : { running_turn: runningTurn }) } };
  });
}

/** `-32800`: the reason with which the SDK aborts a request that its client cancelled; a client that went has another. */
const cancelledCode = -32800;

export async function prompt(
  { live, model }: ChannelParts,
  { sessionId, prompt: blocks, _meta }: PromptRequest,
  { client, signal }: { client: Watcher; signal: AbortSignal },
): Promise<PromptResponse> {
  const request = { text: promptText(blocks), from: client, ...promptMeta(_meta) };
  const result = await live.with(sessionId, (one) => {
    const onAbort = () => {
      if ((signal.reason as { code?: unknown } | undefined)?.code === cancelledCode) one.cancel();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    return one.prompt(request);
  });
  return promptReply(result, model.kind);
}

export async function listSessions(
  { sessions, live }: ChannelParts,
  { cursor, cwd }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  if (typeof cursor === 'string' && !isCursor(cursor))
    throw new ParamsError('cursor', 'cursor is none that a list gave as its nextCursor', cursor);
  const page = await sessions.list(typeof cursor === 'string' ? { cursor } : {});
  const listed = page.sessions.map(({ id, title, opening, updatedAt, origin, model, createdAt, bytes }) => {
    const runningTurn = live.known(id)?.runningTurn;
    return {
      sessionId: id,
      // Sessions belong to the person and to no folder: whichever is asked for, they are there.
      cwd: cwd ?? '/',
      title: title ?? opening ?? null,
      updatedAt,
      _meta: {
        origin,
        model,
        created_at: createdAt,
        bytes,
        ...(runningTurn === undefined ? {} : { running_turn: runningTurn }),
      },
    };
  });
  return { sessions: listed, ...(page.next === undefined ? {} : { nextCursor: page.next }) };
}

/** Stops what runs in it, as the protocol wants; the log stays. @throws AppError session-unknown */
export async function closeSession(
  { sessions, live }: ChannelParts,
  { sessionId }: CloseSessionRequest,
  client: Watcher,
): Promise<Record<string, never>> {
  if (!(await sessions.has(sessionId))) throw unknownSession(sessionId);
  const one = live.known(sessionId);
  if (one === undefined) return {};
  one.cancel();
  await one.idle();
  one.watchers.delete(client);
  live.tidy(sessionId);
  return {};
}

export async function deleteSession(
  { live }: ChannelParts,
  { sessionId }: DeleteSessionRequest,
): Promise<Record<string, never>> {
  await live.delete(sessionId);
  return {};
}

type Meta = Record<string, unknown> | null | undefined;

function originOf(meta: Meta): Origin {
  const origin = meta?.['origin'] ?? 'person';
  if (origins.includes(origin as Origin)) return origin as Origin;
  throw new ParamsError('_meta.origin', `_meta.origin must be one of ${origins.join(', ')}`, origin);
}

const requestIdCharsMax = 128;
const nameCharsMax = 200;

function promptMeta(meta: Meta): { requestId?: string; name?: string } {
  const requestId = textOf(meta, 'request_id', requestIdCharsMax);
  const name = textOf(meta, 'name', nameCharsMax);
  return { ...(requestId === undefined ? {} : { requestId }), ...(name === undefined ? {} : { name }) };
}

function textOf(meta: Meta, field: string, charsMax: number): string | undefined {
  const value = meta?.[field] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value !== '' && value.length <= charsMax) return value;
  throw new ParamsError(
    `_meta.${field}`,
    `_meta.${field} must be a string of 1 to ${charsMax} characters`,
    value,
  );
}

function unknownSession(id: string): AppError {
  return new AppError('session-unknown', `there is no session ${JSON.stringify(id)}`, {
    details: { session: id },
  });
}
