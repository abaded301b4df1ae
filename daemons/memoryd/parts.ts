/** The parts that memoryd is made of, opened in the order in which each can do without the later ones. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '../../shared/home.ts';
import type { Log } from '../../shared/log.ts';
import type { MemorydSettings } from '../../shared/settings.ts';
import { knownBackups } from './backup/known-backups.ts';
import { CuratedMemory } from './curated/curated-memory.ts';
import type { Faults } from './faults.ts';
import { Intake } from './intake/intake.ts';
import type { StoredRecord } from './plane/context.ts';
import { RecallIndex } from './recall/recall-index.ts';
import { RecordStore } from './store/record-store.ts';
import { RequestLedger } from './store/requests.ts';

const mebibyte = 1024 * 1024;
/** Old request ids are swept so often; a damaged store is looked at again so often, in case it was mended. */
const sweepEveryMs = 60 * 60 * 1000;
const recheckEveryMs = 5000;

interface PartsOptions {
  readonly home: Home;
  readonly settings: MemorydSettings;
  readonly log: Log;
  readonly faults: Faults;
  readonly nowMs: () => number;
}

export interface Parts {
  readonly context: {
    readonly store: RecordStore;
    readonly requests: RequestLedger;
    readonly curated: CuratedMemory;
    readonly intake: Intake;
    readonly onRecord: (stored: StoredRecord) => void;
  };
  /** Background work, once the sockets listen. */
  start(): void;
  reload(settings: MemorydSettings): void;
  stop(): Promise<void>;
}

/** @throws AppError store-locked; a store that is damaged or newer is open all the same, and says so when asked */
export async function openParts({ home, settings, log, faults, nowMs }: PartsOptions): Promise<Parts> {
  const { store: storeSettings, memory, recall } = settings;
  mkdirSync(home.memory, { recursive: true, mode: 0o700 });
  const store = await RecordStore.open({
    dir: join(home.store, 'records'),
    durable: storeSettings.durable,
    minFreeBytes: storeSettings.free_mib_min * mebibyte,
    reserveBytes: storeSettings.ballast_mib * mebibyte,
    log,
  });
  reportState(store, log, faults);
  const requests = new RequestLedger(store, nowMs);
  const curated = await CuratedMemory.open({
    dir: home.memory,
    store,
    limits: { memory: memory.memory_chars_max, user: memory.user_chars_max },
    requests,
    review: memory.review,
    nowMs,
    log,
  });
  const intake = await Intake.open({
    sessionsDir: home.sessions,
    indexDir: join(home.store, 'index'),
    openIndex: ({ dir, texts }) => RecallIndex.open({ dir, texts, nowMs, timeZone: recall.time_zone, log }),
    store,
    curated,
    backups: () => knownBackups(store),
    lineBytesMax: recall.session_line_bytes_max,
    nowMs,
    log,
  });
  const timers: NodeJS.Timeout[] = [];
  return {
    context: { store, requests, curated, intake, onRecord: (stored) => intake.onRecord(stored) },
    start: () => {
      intake.start();
      timers.push(
        setInterval(() => void sweep(requests, log), sweepEveryMs).unref(),
        setInterval(() => void recheck(store, log), recheckEveryMs).unref(),
      );
    },
    reload: (fresh) => {
      curated.review = fresh.memory.review;
      void recheck(store, log);
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await intake.stop();
      await store.close();
    },
  };
}

function reportState(store: RecordStore, log: Log, faults: Faults): void {
  const { state } = store;
  if (state.kind === 'ready') return;
  const code =
    state.kind === 'newer' ? 'store-newer' : state.kind === 'recovering' ? state.code : 'store-damaged';
  faults.count(code);
  log.error({ code, RUNBOOK: code, ...state }, code);
}

async function sweep(requests: RequestLedger, log: Log): Promise<void> {
  try {
    await requests.sweep();
  } catch (thrown) {
    log.warn({ err: thrown }, 'old request ids stay for now');
  }
}

/** An operator mends or replaces a damaged store while we run; it is taken into use without a restart. */
async function recheck(store: RecordStore, log: Log): Promise<void> {
  if (store.state.kind !== 'damaged') return;
  try {
    const { kind } = await store.recheck();
    if (kind === 'ready') log.info('the record store is in use again');
  } catch (thrown) {
    log.warn({ err: thrown }, 'the record store cannot be looked at');
  }
}
