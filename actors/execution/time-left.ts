import type { RunningExecution } from './state.ts';

/** When the running iteration times out, or the execution if that comes first; Unix ms. `updated_at` began the iteration. */
export function endOfIteration({ started_at, updated_at, plan }: RunningExecution): number {
  const iterationEnds = Date.parse(updated_at) + plan.iteration_timeout_ms;
  const executionEnds = Date.parse(started_at) + plan.execution_timeout_ms;
  return Math.min(iterationEnds, executionEnds);
}

const MARGIN_MS = 5_000;

/**
 * How long a judge may take: what the manifest says, but always so that one who hangs is left out, or skipped, before
 * the iteration itself times out.
 */
export function judgeTimeoutMs(running: RunningExecution, askedMs: number, now: number): number {
  const leftMs = endOfIteration(running) - now;
  return Math.max(1, Math.min(askedMs, Math.floor(leftMs - Math.min(MARGIN_MS, leftMs / 10))));
}
