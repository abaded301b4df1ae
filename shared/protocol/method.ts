/** The shape of a protocol: a table of methods, from which client, handlers, checks and the protocol page follow. */
import type { RawJson } from '../raw-json.ts';
import type { Infer, Schema } from '../schema.ts';

/** Who asks, decided by the socket that a request came in on and by nothing else. */
export const roles = ['loop', 'gate', 'ops'] as const;
export type Role = (typeof roles)[number];

/**
 * What a method does to the order of one connection. `read`: none. `queue`: a write that takes its place
 * synchronously, so many may wait together. `exclusive`: a write that starts after those before it are done.
 */
export type Effect = 'read' | 'queue' | 'exclusive';

declare const result: unique symbol;

export interface Method<P = unknown, R = unknown> {
  /** One sentence for the protocol page. */
  readonly about: string;
  readonly roles: readonly Role[];
  readonly effect: Effect;
  readonly params: Schema<P>;
  /** The reply as text, for the protocol page; its type rides along. */
  readonly returns: Returns<R>;
}

export interface Returns<R> {
  readonly [result]?: R;
  readonly shape: string;
}

/** The reply's type with the shape that the protocol page prints. */
export function returns<R>(shape: string): Returns<R> {
  return { shape };
}

export type Protocol = Readonly<Record<string, Method>>;
export type MethodName<P extends Protocol> = keyof P & string;
export type Params<P extends Protocol, M extends keyof P> = Infer<P[M]['params']>;
export type Result<P extends Protocol, M extends keyof P> =
  P[M]['returns'] extends Returns<infer R> ? R : never;

/** What a handler knows of its caller. */
export interface Call {
  readonly role: Role;
  readonly method: string;
}

/** What a handler may give: the reply, or the reply as JSON text already. */
export type Answer<R> = R | RawJson<R> | Promise<R | RawJson<R>>;

/** A function for every method; a missing one is a compile error. */
export type Handlers<P extends Protocol, C> = {
  readonly [M in keyof P]: (params: Params<P, M>, context: C, call: Call) => Answer<Result<P, M>>;
};
