/** Goal: conversations of every known format become sessions, the same ones each time. Method: small files of each format. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImportedSession } from './imported-session.ts';
import { parseImport, type ImportKind } from './parse-import.ts';

async function sessionsOf(
  source: string | AsyncIterable<Uint8Array | string>,
  kind: ImportKind | 'auto' = 'auto',
): Promise<ImportedSession[]> {
  const sessions: ImportedSession[] = [];
  for await (const session of parseImport({ kind, source, name: 'file' })) sessions.push(session);
  return sessions;
}

async function* bytewise(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
}

const locomo = {
  speaker_a: 'Ann',
  speaker_b: 'Ben',
  session_2_date_time: '12:09 am on 13 September, 2023',
  session_2: [{ speaker: 'Ben', dia_id: 'D2:1', text: 'Later' }],
  session_10_date_time: '1:56 pm on 8 May, 2024',
  session_10: [
    { speaker: 'Ann', dia_id: 'D10:1', text: 'Look', blip_caption: 'a photo of a dog', query: 'dog' },
    { speaker: 'Ben', dia_id: 'D10:2', text: 'Nice' },
  ],
  session_11_date_time: '1:00 pm on 9 May, 2024',
  qa: [],
};

test('each session of a LoCoMo conversation is a session, each utterance a turn with speaker, id, date and caption', async () => {
  assert.deepEqual(await sessionsOf(JSON.stringify(locomo)), [
    {
      id: 'locomo-file-2',
      startedAt: '2023-09-13T00:09:00.000Z',
      origin: 'person',
      records: [
        { type: 'turn', turn: 0, text: 'Later', name: 'Ben', ref: 'D2:1', at: '2023-09-13T00:09:00.000Z' },
        { type: 'end', turn: 0, outcome: 'answer', at: '2023-09-13T00:09:00.000Z' },
      ],
    },
    {
      id: 'locomo-file-10',
      startedAt: '2024-05-08T13:56:00.000Z',
      origin: 'person',
      records: [
        {
          type: 'turn',
          turn: 0,
          text: 'Look [image: a photo of a dog]',
          name: 'Ann',
          ref: 'D10:1',
          at: '2024-05-08T13:56:00.000Z',
        },
        { type: 'turn', turn: 1, text: 'Nice', name: 'Ben', ref: 'D10:2', at: '2024-05-08T13:56:01.000Z' },
        { type: 'end', turn: 1, outcome: 'answer', at: '2024-05-08T13:56:01.000Z' },
      ],
    },
  ]);
});

test('LoCoMo as it was published, a list of samples with a nested conversation, reads alike under its sample ids', async () => {
  const flat = await sessionsOf(JSON.stringify(locomo));
  const nested = await sessionsOf(
    JSON.stringify([
      { sample_id: 'conv-1', conversation: locomo, qa: [] },
      { sample_id: 'conv-2', conversation: locomo, qa: [] },
    ]),
  );

  assert.deepEqual(
    nested.map(({ id }) => id),
    ['locomo-conv-1-2', 'locomo-conv-1-10', 'locomo-conv-2-2', 'locomo-conv-2-10'],
  );
  assert.deepEqual(nested[1]?.records, flat[1]?.records);
});

const node = (id: string, parent: string | null, message: object | null, children: string[] = []) => ({
  [id]: { id, parent, children, message },
});
const said = (role: string, text: string, more: object = {}) => ({
  author: { role },
  create_time: 1_700_000_000.5,
  content: { content_type: 'text', parts: [text] },
  recipient: 'all',
  ...more,
});
const chatgpt = {
  title: 'Tea',
  create_time: 1_700_000_000,
  conversation_id: '0a/b c',
  current_node: 'd',
  mapping: {
    ...node('root', null, null, ['s']),
    ...node('s', 'root', said('system', 'secret settings'), ['a']),
    ...node('a', 's', said('user', 'Which tea?'), ['b', 'x']),
    ...node('x', 'a', said('assistant', 'an answer that was thrown away'), []),
    ...node('b', 'a', said('assistant', 'search("tea")', { recipient: 'browser' }), ['c']),
    ...node('c', 'b', said('tool', 'result of a tool'), ['d']),
    ...node('d', 'c', said('assistant', 'Green \uE200cite\uE202turn0\uE201tea.', { create_time: null }), []),
  },
};

test('of a ChatGPT conversation the branch last shown is taken, without tools, settings and thrown-away answers', async () => {
  assert.deepEqual(await sessionsOf(JSON.stringify([chatgpt])), [
    {
      id: 'chatgpt-0a-b-c',
      title: 'Tea',
      startedAt: '2023-11-14T22:13:20.000Z',
      origin: 'person',
      records: [
        { type: 'turn', turn: 0, text: 'Which tea?', at: '2023-11-14T22:13:20.500Z' },
        {
          type: 'assistant',
          turn: 0,
          step: 0,
          text: 'Green tea.',
          finish: 'stop',
          at: '2023-11-14T22:13:20.500Z',
        },
        { type: 'end', turn: 0, outcome: 'answer', at: '2023-11-14T22:13:20.500Z' },
      ],
    },
  ]);
});

test('a ChatGPT tree whose parents go in a circle ends', async () => {
  const mapping = { ...node('a', 'b', said('user', 'one')), ...node('b', 'a', said('user', 'two')) };
  const [session] = await sessionsOf(JSON.stringify([{ ...chatgpt, current_node: 'a', mapping }]));

  assert.ok((session?.records.length ?? 0) > 1);
});

test('a Claude conversation comes with its attachments, a reply before any question as turn 0', async () => {
  const [session] = await sessionsOf(
    JSON.stringify([
      {
        uuid: 'u1',
        name: '',
        created_at: '2024-01-02T03:04:05.000000Z',
        chat_messages: [
          { sender: 'assistant', text: 'Welcome', content: [], created_at: '2024-01-02T03:04:05Z' },
          {
            sender: 'human',
            text: 'see file',
            content: [{ type: 'text', text: 'see file' }],
            attachments: [{ file_name: 'a.txt', extracted_content: 'inside' }],
            files: [{ file_name: 'b.png' }],
            created_at: '2024-01-02T03:05:00Z',
          },
        ],
      },
    ]),
  );

  assert.equal(session?.id, 'claude-u1');
  assert.equal(session.title, undefined);
  assert.deepEqual(
    session.records.map((record) => [
      record.type,
      'turn' in record && record.turn,
      'text' in record && record.text,
    ]),
    [
      ['assistant', 0, 'Welcome'],
      ['end', 0, false],
      ['turn', 1, 'see file\n\n[file: a.txt]\ninside\n\n[file: b.png]'],
      ['end', 1, false],
    ],
  );
});

test('the sessions of a LongMemEval haystack keep their dates and say which message is which', async () => {
  const sessions = await sessionsOf(
    JSON.stringify([
      {
        question_id: 'q1',
        haystack_dates: ['2023/05/30 (Tue) 23:40'],
        haystack_session_ids: ['answer_1'],
        haystack_sessions: [
          [
            { role: 'user', content: 'I have a cat', has_answer: true },
            { role: 'assistant', content: 'Nice' },
          ],
        ],
      },
    ]),
  );

  assert.equal(sessions[0]?.id, 'longmemeval-q1_answer_1');
  assert.equal(sessions[0].startedAt, '2023-05-30T23:40:00.000Z');
  assert.deepEqual(
    sessions[0].records.flatMap((record) => ('ref' in record ? [record.ref] : [])),
    ['q1_answer_1:0', 'q1_answer_1:1'],
  );
});

test('a log of ours comes back record for record, without header and numbers', async () => {
  const lines = [
    {
      v: 1,
      seq: 0,
      at: '2026-01-01T00:00:00.000Z',
      type: 'session',
      id: 'old',
      origin: 'person',
      title: 'T',
    },
    { v: 1, seq: 1, at: '2026-01-01T00:00:01.000Z', type: 'turn', turn: 0, text: 'a\u2028b' },
    {
      v: 1,
      seq: 2,
      at: '2026-01-01T00:00:02.000Z',
      type: 'result',
      turn: 0,
      call: 'c',
      status: 'ok',
      text: 'r',
    },
    { v: 1, seq: 0, at: '2026-01-02T00:00:00.000Z', type: 'session', id: 'new', origin: 'person' },
    { v: 1, seq: 1, at: '2026-01-02T00:00:01.000Z', type: 'turn', turn: 0, text: 'c' },
  ];
  const sessions = await sessionsOf(lines.map((line) => JSON.stringify(line)).join('\n'));

  assert.deepEqual(
    sessions.map(({ id, title, startedAt, records }) => ({ id, title, startedAt, count: records.length })),
    [
      { id: 'old', title: 'T', startedAt: '2026-01-01T00:00:00.000Z', count: 2 },
      { id: 'new', title: undefined, startedAt: '2026-01-02T00:00:00.000Z', count: 1 },
    ],
  );
  assert.deepEqual(sessions[0]?.records[0], {
    type: 'turn',
    turn: 0,
    text: 'a\u2028b',
    at: '2026-01-01T00:00:01.000Z',
  });
});

test('messages a line are one session, or several where the lines say so', async () => {
  const one = await sessionsOf(
    '{"role":"user","content":"hi","at":"2026-01-01T00:00:00Z","name":"Ann"}\n{"role":"system","content":"x"}\n{"role":"assistant","content":[{"type":"text","text":"hello"}]}\n',
  );
  const two = await sessionsOf(
    '{"role":"user","content":"hi","session":"a"}\n{"role":"user","content":"ho","session":"b"}',
  );

  assert.deepEqual(
    one.map(({ id, records }) => [id, records.map(({ type }) => type)]),
    [['file', ['turn', 'assistant', 'end']]],
  );
  assert.deepEqual(
    two.map(({ id }) => id),
    ['a', 'b'],
  );
});

test('a conversation a line is a session a line', async () => {
  const line = '{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}';

  assert.deepEqual(
    (await sessionsOf(`${line}\n${line}\n`)).map(({ id, records }) => [id, records.length]),
    [
      ['file-1', 3],
      ['file-2', 3],
    ],
  );
});

test('lines of one session that lie apart are refused, since the same id twice would be two histories', async () => {
  const lines = ['a', 'b', 'a'].map((session) => JSON.stringify({ role: 'user', content: 'x', session }));

  await assert.rejects(sessionsOf(lines.join('\n')), { code: 'rejected', message: /line 3: session a/ });
});

test('a stream that comes a byte at a time, pretty printed and with a byte order mark, reads alike', async () => {
  const text = `\uFEFF ${JSON.stringify([chatgpt, { ...chatgpt, conversation_id: 'ü"[{' }], null, 2)}`;

  const whole = await sessionsOf(text);
  assert.equal(whole.length, 2);
  assert.deepEqual(await sessionsOf(bytewise(text)), whole);
});

test('importing the same file again gives the same ids and records', async () => {
  for (const source of [locomo, [chatgpt]].map((value) => JSON.stringify(value)))
    assert.deepEqual(await sessionsOf(source), await sessionsOf(source));
});

test('what is of no known kind, or cut in the middle, is refused by name', async () => {
  await assert.rejects(sessionsOf('{"hello":1}'), { code: 'rejected', message: /no known kind/ });
  await assert.rejects(sessionsOf(JSON.stringify([chatgpt]).slice(0, -20)), { code: 'rejected' });
  await assert.rejects(sessionsOf(JSON.stringify([chatgpt]), 'claude'), {
    message: /element 1 is not of the kind claude/,
  });
  assert.deepEqual(await sessionsOf(''), []);
  assert.deepEqual(await sessionsOf('[]'), []);
});
