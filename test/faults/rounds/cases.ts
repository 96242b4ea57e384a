import { clockJump } from './clock-jump.ts';
import { earlyCancel } from './early-cancel.ts';
import type { FaultCase } from './fault-case.ts';
import { logOnFullDisk } from './log-on-full-disk.ts';
import { removedRuns } from './removed-runs.ts';
import { documentsAway, storesAway } from './stores-away.ts';
import { versions } from './versions.ts';

/** In the order in which `npm run faults` runs them. */
export const FAULT_CASES: readonly FaultCase[] = [
  earlyCancel,
  documentsAway,
  storesAway,
  logOnFullDisk,
  clockJump,
  versions,
  removedRuns,
];
