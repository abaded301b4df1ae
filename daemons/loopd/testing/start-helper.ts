/** Starts a server of these tests as a process of its own, which outlives the daemons that it serves. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { LineSplitter } from '../../../shared/wire.ts';

const folder = new URL('.', import.meta.url).pathname;
const lineBytesMax = 64 * 1024;

/** The url that it prints when it is ready. */
export async function startHelper(
  t: TestContext,
  file: 'fake-model-main.ts' | 'effect-server.ts',
  options: object,
): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), join(folder, file), JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const splitter = new LineSplitter(lineBytesMax);
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk))
        if (line?.startsWith('{')) resolve((JSON.parse(line) as { url: string }).url);
    });
    void exited.then(() => reject(new Error(`${file} ended before it was ready`)));
  });
}
