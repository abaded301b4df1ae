/**
 * Clients that never rest: load.mjs SOCKET SECONDS WORKERS METHOD PARAMS. Each request has a connection of its own
 * and is sent once more where its answer was cut off or said "try again"; %N in PARAMS is a number of its own.
 * Prints {sent, answered, refused, cut, lost, slowest_ms, errors}.
 */
import { connect } from 'node:net';

const [path = '', seconds = '1', workers = '1', method = '', params = '{}'] = process.argv.slice(2);
const timeoutMs = 30_000;
const endMs = performance.now() + Number(seconds) * 1000;
const counts = { sent: 0, answered: 0, refused: 0, cut: 0, lost: 0, slowest_ms: 0, errors: {} };

await Promise.all(Array.from({ length: Number(workers) }, work));
process.stdout.write(`${JSON.stringify(counts)}\n`);

async function work() {
  while (performance.now() < endMs) {
    counts.sent += 1;
    const line = requestLine(counts.sent);
    const startedMs = performance.now();
    const first = await ask(line);
    const second = first === 'answered' ? first : await ask(line);
    if (second === 'answered') counts.answered += 1;
    else counts.lost += 1;
    counts.slowest_ms = Math.max(counts.slowest_ms, Math.round(performance.now() - startedMs));
  }
}

function requestLine(number) {
  const own = JSON.parse(params.replaceAll('%N', String(number)));
  return `${JSON.stringify({ jsonrpc: '2.0', id: number, method, params: own })}\n`;
}

/** One attempt: `answered`, or what became of it instead. */
function ask(line) {
  return new Promise((resolve) => {
    let received = '';
    let isConnected = false;
    const socket = connect(path, () => {
      isConnected = true;
      socket.write(line);
    });
    const settle = (outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    const fail = () => {
      counts[isConnected ? 'cut' : 'refused'] += 1;
      settle('failed');
    };
    socket.setEncoding('utf8');
    socket.setTimeout(timeoutMs, fail);
    socket.on('error', fail);
    socket.on('end', fail);
    socket.on('data', (chunk) => {
      received += chunk;
      if (!received.includes('\n')) return;
      const { error } = JSON.parse(received.slice(0, received.indexOf('\n')));
      if (error === undefined) return settle('answered');
      const code = error.data?.code ?? error.code;
      counts.errors[code] = (counts.errors[code] ?? 0) + 1;
      // An answer all the same, unless it asks to come again.
      settle(error.data?.retryable === true ? 'failed' : 'answered');
    });
  });
}
