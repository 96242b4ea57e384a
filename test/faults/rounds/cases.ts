import { clockJump } from './clock-jump.ts';
import { earlyCancel } from './early-cancel.ts';
import type { FaultCase } from './fault-case.ts';
import { hungModel } from './hung-model.ts';
import { logOnFullDisk } from './log-on-full-disk.ts';
import { noisyTenant } from './noisy-tenant.ts';
import { overload } from './overload.ts';
import { powerFailure } from './power-failure.ts';
import { redisAway } from './redis-away.ts';
import { redisRestored } from './redis-restored.ts';
import { removedRuns } from './removed-runs.ts';
import { replicaBehind, replicaBehindTwoNodes } from './replica-behind.ts';
import { startKeys } from './start-keys.ts';
import { documentsAway, storesAway } from './stores-away.ts';
import { versions } from './versions.ts';

/** In the order in which `npm run faults` runs them. */
export const FAULT_CASES: readonly FaultCase[] = [
  earlyCancel,
  replicaBehind,
  replicaBehindTwoNodes,
  powerFailure,
  redisAway,
  redisRestored,
  documentsAway,
  storesAway,
  logOnFullDisk,
  clockJump,
  versions,
  overload,
  hungModel,
  noisyTenant,
  removedRuns,
  startKeys,
];
