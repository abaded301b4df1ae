/** The operator: rebuilds, compacts and backs up while everybody writes; a backup that was acknowledged is whole. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { BackupManifest } from '../../../shared/backup-format.ts';
import type { Home } from '../../../shared/home.ts';
import { fateOf, useWhileOpen, type Actor } from './actor.ts';
import type { LineClient } from './line-client.ts';

const opsPerLifeMax = 4;
const pauseMsMax = 60;

export class Operator implements Actor {
  readonly #random: SeededRandom;
  /** Manifests of backups that were acknowledged and not looked at yet. */
  #backups: string[] = [];
  #acknowledged = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  async act(home: Home): Promise<void> {
    await useWhileOpen(home.memorySockets.ops, opsPerLifeMax, async (client) => {
      await sleep(this.#random.below(pauseMsMax));
      await this.#work(home, client);
    });
  }

  async #work(home: Home, client: LineClient): Promise<void> {
    const to = join(home.home, 'backups');
    mkdirSync(to, { recursive: true });
    const works = [
      { method: 'backup', params: { to } },
      { method: 'reindex', params: {} },
      { method: 'compact', params: {} },
      { method: 'recall', params: { query: 'sudden power loss' } },
    ];
    const { method, params } = works[this.#random.below(works.length)] ?? { method: 'status', params: {} };
    const answer = await client.ask(method, params);
    if (fateOf(answer, () => method) === 'acknowledged') this.#acknowledged += 1;
    if (method === 'backup' && 'result' in answer) this.#backups.push(String(answer.result['path']));
  }

  async settle(): Promise<void> {}

  async check(): Promise<void> {
    for (const path of this.#backups) {
      const manifest = JSON.parse(readFileSync(path, 'utf8')) as BackupManifest;
      const sessions = Object.values(manifest.sessions).flat();
      for (const name of [...manifest.records.pieces, ...Object.values(manifest.files), ...sessions]) {
        const bytes = readFileSync(join(path, '..', '..', 'objects', name));
        assert.equal(createHash('sha256').update(bytes).digest('hex'), name, `a piece of ${path}`);
      }
    }
    this.#backups = [];
  }
}
