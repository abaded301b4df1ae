/**
 * A model server for the runbook's test: model.mjs PORT FILE. Its first start misbehaves as FILE says (refuse, loop,
 * full, slow) and takes the file away; started again, as an entry says, it answers well.
 */
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';

const [port = '8099', file = ''] = process.argv.slice(2);
const contextTokens = 512;
let mode = '';
let promptTokens = 0;
try {
  mode = readFileSync(file, 'utf8').trim();
  rmSync(file);
} catch {
  // Nothing to misbehave with.
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => answer(request.url ?? '', body, response));
});
server.listen(Number(port), '127.0.0.1');

function answer(url, body, response) {
  if (url.startsWith('/health')) return json(response, 200, { status: 'ok' });
  if (url.startsWith('/props')) {
    const size = mode === 'full' ? contextTokens : 32_768;
    return json(response, 200, { default_generation_settings: { n_ctx: size }, total_slots: 1 });
  }
  if (url.startsWith('/v1/models')) return json(response, 200, { object: 'list', data: [{ id: 'default' }] });
  if (!url.startsWith('/v1/chat/completions'))
    return json(response, 404, { error: { code: 404, message: 'none' } });
  if (mode === 'refuse')
    return json(response, 400, {
      error: { code: 400, message: 'no such model', type: 'invalid_request_error' },
    });
  if (mode === 'full') {
    const error = {
      code: 400,
      message: 'the request exceeds the available context size',
      type: 'exceed_context_size_error',
    };
    return json(response, 400, { error: { ...error, n_prompt_tokens: 4096, n_ctx: contextTokens } });
  }
  promptTokens = Math.ceil(body.length / 4);
  const isStream = JSON.parse(body).stream === true;
  if (mode === 'slow' && isStream) return stream(response, [{ content: 'Once' }], undefined);
  if (mode === 'loop' && isStream) return stream(response, [{ tool_calls: [call()] }], 'tool_calls');
  if (isStream) return stream(response, [{ content: 'It is noon.' }], 'stop');
  return json(
    response,
    200,
    completion({ message: { role: 'assistant', content: 'A title' }, finish_reason: 'stop' }),
  );
}

const call = () => ({
  index: 0,
  id: `call-${Math.random()}`,
  type: 'function',
  function: { name: 'recall', arguments: '{"query":"the boiler"}' },
});

const completion = (choice) => ({
  id: 'c',
  object: 'chat.completion',
  model: 'default',
  choices: [{ index: 0, ...choice }],
  usage: { prompt_tokens: promptTokens, completion_tokens: 3, total_tokens: promptTokens + 3 },
});

/** One chunk for each delta; without a finish the stream stays open and silent. */
function stream(response, deltas, finish) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (value) => response.write(`data: ${value}\n\n`);
  for (const delta of deltas)
    send(JSON.stringify({ ...completion({ delta }), object: 'chat.completion.chunk' }));
  if (finish === undefined) return;
  send(
    JSON.stringify({ ...completion({ delta: {}, finish_reason: finish }), object: 'chat.completion.chunk' }),
  );
  send('[DONE]');
  response.end();
}

function json(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
