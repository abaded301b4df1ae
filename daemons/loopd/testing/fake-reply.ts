/** A reply of the fake model server as its events, or as one JSON text. */
import type { ChatRequest } from './fake-checks.ts';
import type { Taken } from './fake-slots.ts';
import type { FakeStep, Piece } from './fake-step.ts';

interface Made {
  readonly checked: ChatRequest;
  readonly step: FakeStep;
  readonly taken: Taken;
  readonly pieces: readonly Piece[];
  readonly finish: string;
  readonly id: string;
  readonly model: string;
}

/** The events of one reply. */
export class FakeReply {
  readonly made: Made;

  constructor(made: Made) {
    this.made = made;
  }

  events(): { head: unknown[]; body: unknown[]; tail: unknown[] } {
    const { checked, taken, pieces, finish } = this.made;
    const progress = { total: taken.promptTokens, cache: taken.cachedTokens, time_ms: 0 };
    const first = this.#chunk({ role: 'assistant', content: null });
    const head = checked.return_progress
      ? [
          { ...first, prompt_progress: { ...progress, processed: taken.cachedTokens } },
          { ...first, prompt_progress: { ...progress, processed: taken.promptTokens } },
        ]
      : [];
    const wantsUsage = checked.stream_options?.include_usage === true && this.made.step.usage !== 'none';
    const last = this.#chunk({}, finish);
    return {
      head: [...head, first],
      body: pieces.map(({ delta }) => this.#chunk(delta)),
      tail: wantsUsage
        ? [last, { ...this.#chunk({}), choices: [], ...this.#counts() }]
        : [this.made.step.usage === 'none' ? last : { ...last, timings: this.#counts().timings }],
    };
  }

  whole(): unknown {
    const { step, finish } = this.made;
    const calls = step.calls?.map((call, at) => ({
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
      id: call.id ?? `call${at}`,
    }));
    const message = {
      role: 'assistant',
      content: step.text ?? '',
      ...(step.reasoning ? { reasoning_content: step.reasoning } : {}),
      ...(calls ? { tool_calls: calls } : {}),
    };
    const { id, model } = this.made;
    return {
      choices: [{ finish_reason: finish, index: 0, message }],
      model,
      object: 'chat.completion',
      id,
      ...this.#counts(),
    };
  }

  #chunk(delta: unknown, finish: string | null = null): Record<string, unknown> {
    const { id, model } = this.made;
    return {
      choices: [{ finish_reason: finish, index: 0, delta }],
      created: 1_796_034_733,
      id,
      model,
      system_fingerprint: 'b1-fake',
      object: 'chat.completion.chunk',
    };
  }

  #counts() {
    const { taken, pieces, step } = this.made;
    const isZero = step.usage === 'zero';
    const [prompt, completion] = isZero ? [0, 0] : [taken.promptTokens, pieces.length];
    return {
      usage: {
        completion_tokens: completion,
        prompt_tokens: prompt,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: taken.cachedTokens },
      },
      timings: {
        cache_n: taken.cachedTokens,
        prompt_n: taken.promptTokens - taken.cachedTokens,
        prompt_ms: 1,
        predicted_n: pieces.length,
        predicted_ms: 1,
      },
    };
  }
}
