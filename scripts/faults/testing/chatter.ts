/** A person who talks to loopd in several sessions at once, and proves that no turn was lost and nothing done twice. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import type { View } from './actor.ts';
import { LineClient, type Answer } from './line-client.ts';

const sessionsMax = 4;
const promptsPerLifeMax = 30;
/** What a daemon that dies, stops, or whose neighbour is away may answer; the same request is sent again later. */
const passing = new Set(['stopping', 'memory-unavailable', 'session-busy']);

interface Prompt {
  readonly id: string;
  readonly text: string;
  /** What the memory tool is to add; undefined where it is a question. */
  readonly fact?: string;
  isAnswered: boolean;
}

interface Conversation {
  readonly id: string;
  readonly prompts: Prompt[];
}

export class Chatter {
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #conversations: Conversation[] = [];
  #count = 0;

  constructor(name: string, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
  }

  get answered(): number {
    return this.#conversations.flatMap(({ prompts }) => prompts).filter(({ isAnswered }) => isAnswered)
      .length;
  }

  async act(home: Home): Promise<void> {
    const client = await connected(home);
    if (client === undefined) return;
    const mine = Array.from({ length: sessionsMax }, (_, at) => this.#talk(client, at));
    await Promise.all(mine);
    client.destroy();
  }

  /** One conversation after another prompt by prompt, as a person does. */
  async #talk(client: LineClient, at: number): Promise<void> {
    for (let prompts = 0; client.isOpen && prompts < promptsPerLifeMax; prompts += 1) {
      let conversation = this.#conversations[at];
      if (conversation === undefined || this.#random.below(25) === 0) {
        const answer = await client.ask('session/new', { cwd: '/', mcpServers: [] });
        if (!isDone(answer, 'session/new')) continue;
        conversation = { id: String(answer.result['sessionId']), prompts: [] };
        // Those before stay in the list: what was said there must not change any more.
        if (this.#conversations[at] !== undefined) this.#conversations.push(this.#conversations[at]);
        this.#conversations[at] = conversation;
      }
      await this.#say(client, conversation);
    }
  }

  async #say(client: LineClient, conversation: Conversation): Promise<void> {
    // What was cut off comes first: a person who got no answer asks again, and is not told twice.
    const open = conversation.prompts.find(({ isAnswered }) => !isAnswered);
    const prompt = open ?? this.#next();
    if (open === undefined) conversation.prompts.push(prompt);
    await send(client, conversation, prompt);
  }

  #next(): Prompt {
    const id = `${this.#name}-${(this.#count += 1)}`;
    if (this.#random.below(3) > 0) {
      const fact = `thing ${id}z stands on shelf ${this.#random.below(100)}`;
      return { id, text: `Remember that ${fact}.`, fact, isAnswered: false };
    }
    return { id, text: `Where does thing ${this.#random.below(this.#count)} stand?`, isAnswered: false };
  }

  /** Every prompt gets its answer in the end, by the same request. */
  async settle(home: Home): Promise<void> {
    const client = await connected(home);
    assert.ok(client, 'loopd does not listen');
    for (const conversation of this.#conversations) {
      for (const prompt of conversation.prompts) {
        if (prompt.isAnswered) continue;
        await send(client, conversation, prompt);
        assert.ok(prompt.isAnswered, `${prompt.id} of ${conversation.id} is not answered`);
      }
    }
    client.destroy();
  }

  async check(view: View): Promise<void> {
    const changes = await view.changes('memory');
    const added = changes.flatMap(({ changed }) => changed.map(({ after }) => after));
    for (const conversation of this.#conversations) {
      const records = recordsOf(view.home, conversation.id);
      const turns = records.filter((record) => record.type === 'turn');
      const asked = conversation.prompts.map(({ id }) => id);
      assert.deepEqual(
        turns.map((turn) => turn.request_id),
        asked,
        `the turns of ${conversation.id}`,
      );
      for (const [at, prompt] of conversation.prompts.entries()) {
        const { turn = 0 } = turns[at] ?? {};
        const ofTurn = records.filter((record) => 'turn' in record && record.turn === turn);
        checkTurn(prompt, { records: ofTurn, added });
      }
    }
  }
}

function checkTurn(
  { id, text, fact }: Prompt,
  { records, added }: { records: readonly SessionRecord[]; added: readonly (string | null)[] },
): void {
  const types = records.map(({ type }) => type);
  assert.equal(types.filter((type) => type === 'turn').length, 1, id);
  assert.equal(types.filter((type) => type === 'end').length, 1, `${id}: ${types.join(' ')}`);
  assert.equal(types.at(-1), 'end', id);
  const turn = records.find((record) => record.type === 'turn');
  assert.equal(turn?.text, text);
  const calls = records.filter((record) => record.type === 'call').map(({ call }) => call);
  const results = records.filter((record) => record.type === 'result').map(({ call }) => call);
  assert.equal(new Set(results).size, results.length, `${id}: a call has two results`);
  for (const call of calls) assert.ok(results.includes(call), `${id}: call ${call} has no result`);
  if (fact === undefined) return;
  const isSaved = records.some(({ type, ...fields }) => {
    return type === 'result' && (fields as { status?: string }).status === 'ok';
  });
  const times = added.filter((entry) => entry === fact).length;
  assert.ok(times <= 1, `${id} was remembered ${times} times`);
  if (isSaved) assert.equal(times, 1, `${id} was said to be saved and is not`);
}

async function connected(home: Home): Promise<LineClient | undefined> {
  const client = await LineClient.open(home.channelSocket);
  if (client === undefined) return undefined;
  const answer = await client.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  return 'result' in answer ? client : undefined;
}

async function send(client: LineClient, { id }: Conversation, prompt: Prompt): Promise<void> {
  const params = {
    sessionId: id,
    prompt: [{ type: 'text', text: prompt.text }],
    _meta: { request_id: prompt.id },
  };
  const answer = await client.ask('session/prompt', params);
  if (isDone(answer, `prompt ${prompt.id}`)) prompt.isAnswered = true;
}

function isDone(answer: Answer, what: string): answer is Extract<Answer, { result: unknown }> {
  if ('result' in answer) return true;
  if ('isCut' in answer) return false;
  const code = String(answer.error.data?.['code']);
  assert.ok(passing.has(code), `${what}: ${JSON.stringify(answer.error)}`);
  return false;
}

/** The log as it lies there: every line a record, counted without a gap. */
function recordsOf({ sessions }: Home, id: string): SessionRecord[] {
  const text = readFileSync(join(sessions, `${id}.jsonl`), 'utf8');
  assert.ok(text.endsWith('\n'), `${id} ends in the middle of a line`);
  const records = text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as SessionRecord);
  assert.deepEqual(
    records.map(({ seq }) => seq),
    records.map((_, at) => at),
    `the sequence of ${id}`,
  );
  return records;
}
