/**
 * Runs the unit tests, compiled together first: a process that loads TypeScript by itself costs more than most files'
 * tests. Usage: unit.ts FILE…
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const outdir = join(root, 'build/tests');
const files = process.argv.slice(2);
if (files.length === 0) throw new Error('unit: no test file was named');

/** Compiled code stands elsewhere, and still finds what lies beside its source. */
const ownPlace: Plugin = {
  name: 'own-place',
  setup(setup) {
    setup.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    }));
  },
};

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: files,
  outdir,
  outbase: '.',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  sourcemap: 'linked',
  plugins: [ownPlace],
  metafile: true,
  logLevel: 'warning',
});
const compiled = Object.entries(metafile.outputs)
  .filter(([path, { entryPoint }]) => entryPoint !== undefined && path.endsWith('.test.js'))
  .map(([path]) => path);
const args = ['--enable-source-maps', '--test', '--test-reporter=./scripts/gate/reporter.mjs', ...compiled];
const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
child.once('close', (status) => {
  process.exitCode = status ?? 1;
});
