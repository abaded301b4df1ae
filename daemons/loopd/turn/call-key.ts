/** What the model wrote as a call, made into one of ours: its own id, parsed arguments, and a key that equals for equal calls. */
import type { ToolCall } from '../../../shared/protocol/sessions.ts';

/** Nothing that a tool takes is deeper, and what is much deeper overflows the stack of whoever walks it. */
const argumentsDepthMax = 64;

export function toToolCall(
  { name, arguments: raw }: { name: string; arguments: string },
  { turn, step, index }: { turn: number; step: number; index: number },
): ToolCall {
  return { id: `c${turn}.${step}.${index}`, name, arguments: parseArguments(raw) };
}

/** The object in the text, `{}` for no text; the text itself where it is no object. */
function parseArguments(raw: string): Record<string, unknown> | string {
  if (raw.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(raw);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return raw;
    return isDeeper(value, argumentsDepthMax) ? raw : (value as Record<string, unknown>);
  } catch {
    return raw;
  }
}

/** Equal for calls of the same tool with the same arguments in whatever order. */
export function callKey(call: ToolCall): string {
  return `${call.name} ${typeof call.arguments === 'string' ? call.arguments : canonical(call.arguments)}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
