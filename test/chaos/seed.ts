import assert from 'node:assert/strict';
import { seedOf } from '../kill/random.ts';
import { reportText, type ScenarioReport } from './report.ts';

/** SVC_SEED repeats a run; it is printed with every report. */
export const seed = seedOf(process.env);

/** Prints the report, so that a run of the tests shows figures too, and fails with the broken promises. */
export function assertKept(report: ScenarioReport): void {
  console.log(reportText(report));
  assert.deepEqual(report.broken, []);
}
