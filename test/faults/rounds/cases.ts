import { earlyCancel } from './early-cancel.ts';
import type { FaultCase } from './fault-case.ts';
import { logOnFullDisk } from './log-on-full-disk.ts';

/** In the order in which `npm run faults` runs them. */
export const FAULT_CASES: readonly FaultCase[] = [earlyCancel, logOnFullDisk];
