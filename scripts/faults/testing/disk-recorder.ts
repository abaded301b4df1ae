/** Builds the recorder with the C compiler of this machine, and says where that cannot be. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('disk-recorder.c', import.meta.url));

/** Why the suites that need it are left out; false where they run. */
export const skipRecorder: string | false =
  process.platform !== 'linux' || spawnSync('cc', ['--version']).status !== 0
    ? process.env['REQUIRE_ALL'] === '1'
      ? false
      : 'the recorder needs cc on Linux'
    : false;

export function buildRecorder(folder: string): string {
  const library = join(folder, 'disk-recorder.so');
  const { status, stderr } = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-pthread'],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`cc: ${stderr}`);
  return library;
}

export interface DiskOperation {
  readonly number: number;
  readonly kind: 'C' | 'W' | 'S' | 'R' | 'U' | 'M' | 'T' | 'A';
  readonly path: string;
  readonly offset: number;
  /** The new name of what is renamed. */
  readonly extra: string;
  readonly data: Buffer;
}

export function readOperations(path: string): DiskOperation[] {
  return readFileSync(path, 'latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [number, kind = '', name = '', offset, extra = '', hex = ''] = line.split('\t');
      return {
        number: Number(number),
        kind: kind as DiskOperation['kind'],
        path: Buffer.from(name, 'latin1').toString('utf8'),
        offset: Number(offset),
        extra: Buffer.from(extra, 'latin1').toString('utf8'),
        data: Buffer.from(hex, 'hex'),
      };
    });
}
