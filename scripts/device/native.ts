/**
 * Copies the packages with native code, and what they need, into a node_modules of their own: only what runs, and
 * only for this architecture. Everything else is bundled. Usage: native.ts TARGET
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));

/** As the build leaves them out of the bundles. */
const nativePackages = ['classic-level', 'koffi', `@koromix/koffi-linux-${process.arch}`];
/** Sources, headers and documents of the packages. */
const skippedFolders = new Set(['node_modules', 'vendor', 'doc', 'deps', 'test', 'benchmark']);
const extensions = new Set(['.js', '.cjs', '.mjs', '.json', '.node']);

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: native.ts TARGET');
for (const name of withDependencies(nativePackages)) copyPackage(join(modules, name), join(target, name));

function withDependencies(names: readonly string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    const manifest = join(modules, name, 'package.json');
    if (!existsSync(manifest)) throw new Error(`${name} is not installed: npm ci`);
    found.add(name);
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    withDependencies(Object.keys(dependencies), found);
  }
  return found;
}

function copyPackage(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const inside = relative(from, path);
    if (!entry.isFile() || !isRun(inside)) continue;
    mkdirSync(dirname(join(to, inside)), { recursive: true });
    copyFileSync(path, join(to, inside));
  }
}

/** Whether a file of a package is needed at run time on this machine; Debian has glibc, never musl. */
function isRun(path: string): boolean {
  const folders = dirname(path).split('/');
  if (folders.some((folder) => skippedFolders.has(folder))) return false;
  if (/^LICEN[CS]E/i.test(path)) return true;
  if (extname(path) !== '.node') return extensions.has(extname(path));
  if (path.includes('musl')) return false;
  return folders[0] !== 'prebuilds' || folders[1] === `linux-${process.arch}`;
}
