import type { FaultCase } from './fault-case.ts';

/** In the order in which `npm run faults` runs them. */
export const FAULT_CASES: readonly FaultCase[] = [];
