/**
 * Goal: the estimate errs high, and not absurdly so. Method: texts with the most tokens that any of six public
 * vocabularies makes of them (o200k, cl100k, r50k, Llama 2, Llama 3, Mistral), counted with their tokenizers.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { estimateTokens } from './tokens.ts';

const counted: readonly [name: string, tokensMax: number, text: string][] = [
  [
    'English',
    37,
    'The build runs on the old laptop in the kitchen. Ann prefers short answers, and she wants to be told when a backup fails; everything else can wait until the weekend.',
  ],
  [
    'Markdown of a memory block',
    54,
    '<memory>\nmemory.md, notes on the work and the world:\n- Deploys happen on Fridays after lunch.\n- Steps:\n  - stop the service\n  - copy `data/` to the disk\n</memory>',
  ],
  [
    'TypeScript',
    83,
    "export async function load({ path, limitBytes }: Options): Promise<Buffer | undefined> {\n  const file = await open(path, 'r');\n  try {\n    return (await file.stat()).size > limitBytes ? undefined : await file.readFile();\n  } finally {\n    await file.close();\n  }\n}\n",
  ],
  [
    'C',
    79,
    'static int flush(struct fb *b) { if (!b->n) return 0; int fail = op(\'W\', b->path, "-", b->p, b->n, b->off); if (fail) { int e = errno; b->n = 0; errno = e; return EOF; } return 1; }',
  ],
  [
    'tools as JSON',
    69,
    '{"type":"function","function":{"name":"recall","description":"Looks up what was said in earlier sessions.","parameters":{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["query"],"additionalProperties":false}}}',
  ],
  [
    'paths and names',
    40,
    'daemons/memoryd/curated/file-format.ts getUserByIdOrThrow mcp_wiring_test --no-ignore-vcs foo.bar.baz',
  ],
  [
    'UUIDs',
    106,
    '0190b6c2-7d7e-7c3f-9d4b-1c2d3e4f5a6b\n3f2504e0-4f89-11d3-9a0c-0305e82c3301\nc56a4180-65aa-42ec-a945-5fd21dec0538',
  ],
  ['a sha256', 58, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['hex without a digit', 9, 'deadbeef cafebabe feedface'],
  ['ISO times', 75, '2026-11-30T12:34:56.789Z\n2027-01-02T03:04:05.006Z\n1999-12-31T23:59:59.999Z'],
  ['dates in prose', 49, 'Born 1984-11-30, moved 2019-05-02, next check-up 2027-03-14 at 10:30.'],
  [
    'German',
    61,
    'Die Donaudampfschifffahrtsgesellschaft befördert Fahrgäste; Straßenbahnhaltestelle am Hauptbahnhof. Ich möchte morgen früh ein Brötchen kaufen.',
  ],
  ['French', 37, "J'aimerais réserver une table près de la fenêtre; l'été dernier c'était très agréable."],
  ['Chinese', 92, '今天确认了用户身份校验，明天继续讨论数据库迁移的方案。请把会议纪要发给所有参与的人。'],
  ['traditional Chinese', 59, '繁體中文測試：臺灣鐵路管理局於昨日宣佈調整時刻表。'],
  ['Japanese', 48, '明日の会議は午後三時から始まります。資料を印刷しておいてください。'],
  ['Greek', 63, 'Αύριο το πρωί θα πάω στην αγορά να αγοράσω ψωμί και γάλα.'],
  ['Russian', 72, 'Завтра утром я пойду на рынок купить хлеба и молока для всей семьи.'],
  ['Persian', 43, 'نمی‌خواهم فردا به بازار بروم و نان بخرم.'],
  ['Hindi', 65, 'मैं कल सुबह बाज़ार जाऊँगा और दूध खरीदूँगा।'],
  ['Khmer', 117, 'ថ្ងៃស្អែកខ្ញុំនឹងទៅផ្សារដើម្បីទិញនំប៉័ង'],
  ['emoji', 68, '👍🎉😀🚀🔥💡🙏🏽👨‍👩‍👧🇩🇪🧑🏻‍💻'],
];

for (const [name, tokensMax, text] of counted) {
  test(`the estimate for ${name} errs high`, () => {
    const estimate = estimateTokens(text);
    assert.ok(estimate >= tokensMax, `${estimate} for ${tokensMax}`);
    assert.ok(estimate <= 4 * tokensMax, `${estimate} for ${tokensMax}`);
  });
}

test('nothing costs nothing', () => {
  assert.equal(estimateTokens(''), 0);
});

test('a text never costs less than a part of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (left, right) => {
      assert.ok(estimateTokens(`${left}\n${right}`) >= estimateTokens(left));
    }),
  );
});

test('a long text takes one pass, whatever it holds', () => {
  for (const piece of ['a', '1', 'a1-', 'deadbeef-', '\n', '用', '🙂']) {
    assert.ok(estimateTokens(piece.repeat(500_000)) > 100_000);
  }
});
