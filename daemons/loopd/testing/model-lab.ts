/** A client of a model server and the fake one that it talks to, for one test. */
import { afterEach } from 'node:test';
import { OpenAiModel, type OpenAiOptions } from '../model/openai.ts';
import type { ModelDelta, ModelRequest } from '../turn/effects.ts';
import { FakeModel, type FakeModelOptions } from './fake-model.ts';
import { scriptedBaseline } from './scripted-turn.ts';

/** Done after the test, the last first. */
export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export async function startModel(options: FakeModelOptions = {}, client: Partial<OpenAiOptions> = {}) {
  const fake = await FakeModel.start(options);
  cleanups.push(() => fake.stop());
  const model = new OpenAiModel({ url: fake.url, ...client });
  cleanups.push(() => model.close());
  const deltas: ModelDelta[] = [];
  const ask = (request: Partial<ModelRequest> = {}, { session = 's', signal = AbortSignal.any([]) } = {}) =>
    model.ask(
      {
        messages: [
          { role: 'system', content: scriptedBaseline.system },
          { role: 'user', content: 'Hello' },
        ],
        tools: scriptedBaseline.tools,
        toolChoice: 'auto',
        maxTokens: 1000,
        seed: 7,
        ...request,
      },
      { session, onDelta: (delta) => deltas.push(delta), signal },
    );
  return { fake, model, ask, deltas };
}

export async function until<T>(find: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const found = find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('waited in vain');
}
