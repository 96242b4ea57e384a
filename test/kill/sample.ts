import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sample } from '../support/size.ts';
import { runChaos } from './chaos.ts';
import { checkOutcome } from './checks.ts';
import { seedOf } from './random.ts';
import { percentile } from './recovery.ts';
import { reportLines } from './report.ts';
import { type StoreKind, storesMissing } from './stores.ts';

const KILLS = sample({ normal: 2, long: 20 });
/** Far above the usual time on a busy machine, below the 6 s of leases, claims and jobs of a dead node. */
const RECOVERY_MS = 2_000;

/** The sample of `npm run chaos` that runs with the other tests. */
export function killSample(kind: StoreKind): void {
  const skip = storesMissing(kind);
  const title = `${KILLS} times kill -9 on ${kind}: every execution ends as an unkilled one, no event is lost or doubled`;
  test(title, { skip, timeout: 300_000 }, async (context) => {
    const options = { kind, kills: KILLS, seed: seedOf(process.env), atATime: sample({ normal: 5, long: 12 }) };
    const outcome = await runChaos(options);
    const counts = checkOutcome(outcome);
    for (const line of reportLines(options, outcome, counts)) context.diagnostic(line);
    assert.ok(outcome.executions.length >= options.atATime, 'enough executions ran');
    assert.ok(
      outcome.executions.some((seen) => seen.followed.connections > 1),
      'some kills interrupted streams',
    );
    const typical = percentile(outcome.recovery.sinceUp, 0.5);
    // Where a start takes long, the time to the next event is long too.
    const startMs = percentile(outcome.recovery.each, 0.5) - typical;
    assert.ok(
      typical < Math.max(RECOVERY_MS, startMs),
      `executions continued ${typical} ms after the restart, which looks like a time-out`,
    );
  });
}
