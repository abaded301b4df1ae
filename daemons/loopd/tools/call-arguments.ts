/** The call inside a call of call_tool, as models write it: an object, a JSON string, wrapped twice, or laid flat. */

interface InnerCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Which parameters a tool has, so that a tool that itself takes `name` and `arguments` is not unwrapped. */
type ParametersOf = (name: string) => readonly string[] | undefined;

type Arguments = Record<string, unknown>;

const nameKeys = ['name', 'tool', 'tool_name'] as const;
const argumentKeys = ['arguments', 'args', 'parameters', 'params', 'input'] as const;
const wrapper = 'call_tool';

/** The inner call, or a sentence that says what is wrong; what was given is never replaced by nothing. */
export function innerCall(
  outer: Arguments,
  parametersOf: ParametersOf = () => undefined,
): InnerCall | string {
  const nameKey = nameKeys.find((key) => typeof outer[key] === 'string' && outer[key] !== '');
  if (nameKey === undefined) return 'call_tool needs `name`: the tool to run, as find_tool shows it.';
  const name = String(outer[nameKey]).trim();
  const argumentKey = argumentKeys.find((key) => outer[key] !== undefined && outer[key] !== null);
  if (argumentKey === undefined) return { name, args: withoutKeys(outer, [nameKey, ...argumentKeys]) };
  const args = decoded(outer[argumentKey], name);
  if (typeof args === 'string') return args;
  return unwrapped({ name, args }, parametersOf);
}

/** A string is decoded as JSON once; blank means no arguments. */
function decoded(value: unknown, name: string): Arguments | string {
  const isText = typeof value === 'string';
  let inner: unknown = value;
  if (isText) {
    if (value.trim() === '') return {};
    try {
      inner = JSON.parse(value);
    } catch (thrown) {
      return `The arguments for ${name} are a string that is not JSON (${(thrown as Error).message}). Give an object.`;
    }
  }
  if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) return inner as Arguments;
  const kind = Array.isArray(inner) ? 'a list' : inner === null ? 'null' : `a ${typeof inner}`;
  return `The arguments for ${name} must be an object, not ${kind}.`;
}

/** `{"name": "t", "arguments": {"name": "t", "arguments": {…}}}`: the wrapper written twice. */
function unwrapped(call: InnerCall, parametersOf: ParametersOf): InnerCall | string {
  const { name, args } = call;
  const { name: innerName, arguments: innerArguments, ...others } = args;
  const isWrapper =
    typeof innerName === 'string' && innerArguments !== undefined && Object.keys(others).length === 0;
  if (!isWrapper || (innerName !== name && name !== wrapper)) return call;
  const own = parametersOf(name);
  if (own?.includes('name') === true && own.includes('arguments')) return call;
  const inner = decoded(innerArguments, innerName);
  return typeof inner === 'string' ? inner : { name: innerName, args: inner };
}

function withoutKeys(args: Arguments, keys: readonly string[]): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([key]) => !keys.includes(key)));
}
