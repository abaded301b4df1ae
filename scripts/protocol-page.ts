/** Prints runbook/protocol.md from the tables of methods, record kinds and errors. Usage: protocol-page.ts > runbook/protocol.md */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorKinds } from '../shared/errors.ts';
import { memorydProtocol } from '../shared/protocol/memoryd.ts';
import type { Method } from '../shared/protocol/method.ts';
import { recordKinds } from '../shared/protocol/records.ts';
import type { Schema } from '../shared/schema.ts';

interface ObjectSchema extends Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export function protocolPage(): string {
  return `# The protocol of memoryd's sockets

Printed from the tables in \`shared/protocol/\`; \`npm run protocol\` writes it anew.

JSON-RPC 2.0, one message a line (UTF-8, LF). A request carries \`jsonrpc\`, \`id\` (a string or an integer; without one there is no reply), \`method\`
and \`params\`. A reply carries \`result\`, or \`error\` with \`code\`, \`message\` and \`data\`. Standard codes: -32700 not JSON or not UTF-8, -32600 not a
request, -32601 no such method, -32602 params (\`data.field\`, \`data.value\`); everything else is -32000 with \`data.code\`, \`data.runbook\` and
\`data.retryable\`. The role of a request is the socket that it came in on.

    → {"jsonrpc":"2.0","id":1,"method":"block"}
    ← {"jsonrpc":"2.0","id":1,"result":{"text":"…","version":"…","files":{…},"tokens":812}}
    ← {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"…","data":{"code":"store-locked","runbook":"store-locked","retryable":true}}}

## Methods

${Object.entries(memorydProtocol).map(methodText).join('\n\n')}

## Record kinds

| kind | key | write | fields (\`?\` optional) |
|---|---|---|---|
${Object.entries(recordKinds).map(kindRow).join('\n')}

## Errors

| \`data.code\` | meaning | exit | retryable |
|---|---|---|---|
${Object.entries(errorKinds)
  .map(
    ([code, { meaning, exit, retryable }]) =>
      `| [${code}](${code}.md) | ${meaning} | ${exit} | ${retryable ? 'yes' : 'no'} |`,
  )
  .join('\n')}
`;
}

function methodText([name, { about, roles, effect, params, returns }]: [string, Method]): string {
  return `### ${name}

${about} Roles: ${roles.join(', ')}.${effect === 'read' ? '' : ' Writes.'}

    → ${fieldsOf(params)}
    ← ${returns.shape}`;
}

function fieldsOf({ properties = {}, required = [] }: ObjectSchema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${name}${required.includes(name) ? '' : '?'}${limitsOf(schema)}`,
  );
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

function limitsOf({ minimum, maximum, enum: values }: Schema): string {
  if (Array.isArray(values)) return `: ${values.join('|')}`;
  return typeof minimum === 'number' && typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER
    ? ` (${minimum}..${maximum})`
    : '';
}

function kindRow([name, { prefix, key, write, value }]: [
  string,
  (typeof recordKinds)[keyof typeof recordKinds],
]): string {
  const { properties = {}, required = [] } = value as ObjectSchema;
  const fields = Object.keys(properties).map((field) => `${field}${required.includes(field) ? '' : '?'}`);
  return `| ${name} | \`${[prefix, ...key.map((part) => `<${part}>`)].join('/')}\` | ${write}s | ${fields.join(' ')} |`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.stdout.write(protocolPage());
}
