/** Method name → function; a method without one does not compile. */
import type { MemorydProtocol } from '../../shared/protocol/memoryd.ts';
import type { Handlers } from '../../shared/protocol/method.ts';
import type { MemorydContext } from './context.ts';
import { backup } from './requests/backup.ts';
import { block } from './requests/block.ts';
import { compact } from './requests/compact.ts';
import { exportPage } from './requests/export.ts';
import { forget } from './requests/forget.ts';
import { importLines } from './requests/import.ts';
import { memoryDecide } from './requests/memory-decide.ts';
import { memoryLog } from './requests/memory-log.ts';
import { memoryPending } from './requests/memory-pending.ts';
import { memoryShow } from './requests/memory-show.ts';
import { memory } from './requests/memory.ts';
import { probe } from './requests/probe.ts';
import { recall } from './requests/recall.ts';
import { recordCarry } from './requests/record-carry.ts';
import { recordFlush } from './requests/record-flush.ts';
import { recordGet } from './requests/record-get.ts';
import { recordList } from './requests/record-list.ts';
import { recordPut } from './requests/record-put.ts';
import { recordRuns } from './requests/record-runs.ts';
import { recordScores } from './requests/record-scores.ts';
import { reindex } from './requests/reindex.ts';
import { status } from './requests/status.ts';
import { updated } from './requests/updated.ts';
import { verify } from './requests/verify.ts';

export const handlers: Handlers<MemorydProtocol, MemorydContext> = {
  block,
  memory,
  'memory/log': memoryLog,
  'memory/show': memoryShow,
  'memory/pending': memoryPending,
  'memory/decide': memoryDecide,
  recall,
  updated,
  'record/put': recordPut,
  'record/get': recordGet,
  'record/list': recordList,
  'record/runs': recordRuns,
  'record/scores': recordScores,
  'record/carry': recordCarry,
  'record/flush': recordFlush,
  status,
  probe,
  reindex,
  verify,
  forget,
  export: exportPage,
  import: importLines,
  backup,
  compact,
};
