/** Builds dist/: one bundle per program, schemas compiled ahead, and the files that ship with them. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { build, type Plugin } from 'esbuild';
import { memorydProtocol } from '../shared/protocol/memoryd.ts';
import { recordKinds } from '../shared/protocol/records.ts';
import { ajvOptions } from '../shared/schema-compiler.ts';
import type { Schema } from '../shared/schema.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const programs = ['daemons/memoryd/main.ts', 'daemons/loopd/main.ts', 'scripts/loopctl/main.ts'];
/** Native code stays a package: it is found beside dist/ at run time. */
const native = ['classic-level', 'koffi'];
const shipped = ['config', 'runbook'];

/** Schemas compiled ahead; one that is not among them is compiled at its first use. */
const schemas: readonly Schema[] = [
  ...Object.values(memorydProtocol).map(({ params }) => params),
  ...Object.values(recordKinds).map(({ value }) => value),
];

/** shared/schema-compiler.ts with its work done: the same interface over validators that ajv wrote ahead. */
function compiledSchemas(): string {
  const ajv = new Ajv({ ...ajvOptions, code: { source: true, esm: true, lines: true } });
  const names: Record<string, string> = {};
  const table: string[] = [];
  for (const [at, schema] of schemas.entries()) {
    const key = JSON.stringify(schema);
    const id = `s${at}`;
    if (table.some((row) => row.startsWith(`[${JSON.stringify(key)},`))) continue;
    ajv.addSchema(schema, id);
    names[id] = id;
    table.push(`[${JSON.stringify(key)}, ${id}]`);
  }
  const make = standaloneCode as unknown as (ajv: Ajv, names: Record<string, string>) => string;
  return `${make(ajv, names)}
const compiled = new Map([${table.join(',\n')}]);
export const ajvOptions = ${JSON.stringify(ajvOptions)};
let ajv;
export function compileSchema(schema) {
  const check = compiled.get(JSON.stringify(schema));
  if (check !== undefined) return check;
  ajv ??= new (require('ajv').Ajv)(ajvOptions);
  return ajv.compile(schema);
}
`;
}

const schemaPlugin: Plugin = {
  name: 'compiled-schemas',
  setup(setup) {
    setup.onLoad({ filter: /shared\/schema-compiler\.ts$/ }, () => ({
      contents: compiledSchemas(),
      loader: 'js',
      resolveDir: root,
    }));
  },
};

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

rmSync(join(root, 'dist'), { recursive: true, force: true });
const result = await build({
  absWorkingDir: root,
  entryPoints: programs,
  outdir: 'dist',
  outbase: '.',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: native,
  plugins: [schemaPlugin],
  define: { LOOPKEEP_VERSION: JSON.stringify(version) },
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  // Bundled CommonJS packages ask for Node's own modules by require().
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
for (const folder of shipped) {
  if (existsSync(join(root, folder)))
    cpSync(join(root, folder), join(root, 'dist', folder), { recursive: true });
}
writeFileSync(
  join(root, 'dist/package.json'),
  `${JSON.stringify({ name: 'loopkeep', version, type: 'module' })}\n`,
);
const bytes = Object.values(result.metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
process.stdout.write(`build: dist/ ${programs.length} programs, ${Math.round(bytes / 1024)} KiB\n`);
