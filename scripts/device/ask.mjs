/** One JSON-RPC request to a Unix socket: ask.mjs SOCKET METHOD [PARAMS]. Prints the reply, or the errno. */
import { connect } from 'node:net';

const [path = '', method = '', params = '{}'] = process.argv.slice(2);
const timeoutMs = 20_000;
const request = { jsonrpc: '2.0', id: 1, method, params: JSON.parse(params) };

const socket = connect(path, () => socket.write(`${JSON.stringify(request)}\n`));
socket.setTimeout(timeoutMs, () =>
  socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
);
let received = '';
socket.setEncoding('utf8');
socket.on('data', (chunk) => {
  received += chunk;
  const end = received.indexOf('\n');
  if (end >= 0) finish(received.slice(0, end), 0);
});
socket.on('error', ({ code }) => finish(JSON.stringify({ errno: code }), 1));
socket.on('end', () => finish(JSON.stringify({ errno: 'ECONNRESET' }), 1));

function finish(line, status) {
  process.stdout.write(`${line}\n`, () => process.exit(status));
}
