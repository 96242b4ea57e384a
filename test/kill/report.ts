import type { ChaosOptions, ChaosOutcome } from './chaos.ts';
import type { Counts } from './checks.ts';
import { histogram, percentile } from './recovery.ts';

/** The figures of a chaos run as lines of text. */
export function reportLines(options: ChaosOptions, outcome: ChaosOutcome, counts: Counts): string[] {
  const { executions, recovery, killsInStartup, tookMs } = outcome;
  const events = executions.reduce((sum, seen) => sum + seen.followed.events.length, 0);
  const resumed = executions.reduce((sum, seen) => sum + seen.followed.connections - 1, 0);
  const quantiles = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms, longest ${percentile(times, 1)} ms`;
  return [
    `${options.kind}, seed ${options.seed}: ${recovery.kills} kills (${killsInStartup} in start-up) in ${Math.round(tookMs / 1_000)} s`,
    `  ${executions.length} executions, ${events} events, ${resumed} streams resumed: no gap, no repeat`,
    `  model calls ${outcome.calls.length}, repeated ${counts.repeatedCalls}, none after its result was recorded`,
    `  programs started ${outcome.runs.length}, again ${counts.repeatedRuns}, admitted in doubt ${counts.inDoubt}, failed in doubt ${counts.failedInDoubt}`,
    ...traceLines(outcome.traces),
    `  kill to first new event: ${quantiles(recovery.first)}`,
    ...histogram(recovery.first).map((line) => `    ${line}`),
    `  kill to next event of each execution that ran: ${quantiles(recovery.each)}`,
    ...histogram(recovery.each).map((line) => `    ${line}`),
    `  node listens to next event of each: ${quantiles(recovery.sinceUp)}`,
  ];
}

function traceLines(traces: ChaosOutcome['traces']): string[] {
  if (traces === null) return [];
  const { appends, deliveries, writtenTwice, calls, largest, broken } = traces;
  return [
    `  raw ledger: ${appends} appends, ${deliveries} deliveries, ${writtenTwice} written twice; ${calls} client calls, the largest of ${largest} deliveries; broken: ${broken.length}`,
  ];
}
