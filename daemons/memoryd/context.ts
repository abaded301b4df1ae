/** What the handlers of memoryd may use; a field comes in when a handler needs it. */
import type { Home } from '../../shared/home.ts';
import type { CuratedMemory } from './curated/curated-memory.ts';
import type { Faults } from './faults.ts';
import type { Intake } from './intake/intake.ts';
import type { PlaneContext } from './plane/context.ts';
import type { RecordStore } from './store/record-store.ts';
import type { RequestLedger } from './store/requests.ts';

export interface MemorydContext extends PlaneContext {
  readonly store: RecordStore;
  readonly requests: RequestLedger;
  readonly curated: CuratedMemory;
  readonly intake: Intake;
  readonly faults: Faults;
  readonly home: Home;
  readonly startedMs: number;
  /** Connections that are open now. */
  readonly connections: () => number;
}
