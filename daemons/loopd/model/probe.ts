/** What a model server says of itself before it is asked anything. */
import { faultOfAnswer } from './model-fault.ts';
import type { ExchangeLimits, ModelEndpoint } from './http-exchange.ts';

export interface ServerFacts {
  /** A llama-server, which can be told in which slot to keep a prompt. */
  readonly isLlama: boolean;
  readonly totalSlots?: number;
  readonly contextTokens?: number;
  readonly model?: string;
  readonly warnings: readonly string[];
}

const probeMs = 10_000;
const bodyBytesMax = 4 * 1024 * 1024;
/** Below this the baseline, its block and a few results leave little room. */
const contextTokensWanted = 8192;

interface Props {
  total_slots?: unknown;
  default_generation_settings?: { n_ctx?: unknown };
  model_alias?: unknown;
  model_path?: unknown;
  chat_template_caps?: Record<string, unknown>;
}

/** @throws AppError model-unavailable (also while the model loads), model-refused (the key is wrong) */
export async function probeServer(endpoint: ModelEndpoint, limits: ExchangeLimits): Promise<ServerFacts> {
  const { status, body } = await getJson(endpoint, '/props', limits);
  if (status === 503 || status === 401 || status === 403) throw faultOfAnswer(status, body);
  const props = (status === 200 && typeof body === 'object' && body !== null ? body : {}) as Props;
  const totalSlots = positive(props.total_slots);
  if (totalSlots === undefined)
    return { isLlama: false, ...(await firstModel(endpoint, limits)), warnings: [] };
  const contextTokens = positive(props.default_generation_settings?.n_ctx);
  const model = [props.model_alias, props.model_path].find((name) => typeof name === 'string' && name !== '');
  return {
    isLlama: true,
    totalSlots,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(typeof model === 'string' ? { model } : {}),
    warnings: warningsOf(props, contextTokens),
  };
}

function warningsOf({ chat_template_caps: caps }: Props, contextTokens: number | undefined): string[] {
  const warnings: string[] = [];
  if (contextTokens !== undefined && contextTokens < contextTokensWanted)
    warnings.push(
      `its context of ${contextTokens} tokens is small; start it with at least ${contextTokensWanted} a slot`,
    );
  if (caps?.['supports_tools'] === false || caps?.['supports_tool_calls'] === false)
    warnings.push('its chat template does not know tools; start it with --jinja and a model that does');
  return warnings;
}

/** Servers that serve several models want one of their names. */
async function firstModel(
  endpoint: ModelEndpoint,
  limits: ExchangeLimits,
): Promise<{ model?: string; contextTokens?: number }> {
  const { status, body } = await getJson(endpoint, '/v1/models', limits);
  if (status === 401 || status === 403 || status === 503) throw faultOfAnswer(status, body);
  const first = (body as { data?: { id?: unknown; max_model_len?: unknown }[] } | null)?.data?.[0];
  const contextTokens = positive(first?.max_model_len);
  return {
    ...(typeof first?.id === 'string' ? { model: first.id } : {}),
    ...(contextTokens === undefined ? {} : { contextTokens }),
  };
}

async function getJson(
  endpoint: ModelEndpoint,
  path: string,
  limits: ExchangeLimits,
): Promise<{ status: number; body: unknown }> {
  let status = 0;
  const pieces: Buffer[] = [];
  let bytes = 0;
  await endpoint.exchange({
    method: 'GET',
    path,
    signal: AbortSignal.any([]),
    limits: { ...limits, queuedMs: Math.min(limits.queuedMs, probeMs), totalMs: probeMs },
    onHeaders: (code) => (status = code),
    onBytes: (piece) => {
      pieces.push(piece);
      return (bytes += piece.length) <= bodyBytesMax;
    },
  });
  try {
    return { status, body: JSON.parse(Buffer.concat(pieces).toString()) };
  } catch {
    return { status, body: undefined };
  }
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
