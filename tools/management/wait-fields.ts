import { z } from 'zod';

/** A call of a tool ends after 600 s, so a wait does before: longer ones are asked for again. */
export const MAX_WAIT_SECONDS = 600;
/** Looking again is only for wake-ups that were lost: more often is no use. */
export const LEAST_POLL_SECONDS = 1;

const timeoutText = `Longest wait; capped at ${MAX_WAIT_SECONDS}.`;
const pollText = 'How often it is looked again in case a wake-up was lost; the end is told at once.';
const capped = (asked: number): number => Math.min(asked, MAX_WAIT_SECONDS);

/** Of svc.task.wait and svc.agent.wait (spec 3, Limits). */
export const taskWait = {
  poll_interval_seconds: z.number().min(LEAST_POLL_SECONDS).default(10).describe(pollText),
  timeout_seconds: z.number().min(1).default(300).describe(timeoutText).transform(capped),
};

/** Of svc.workflow.wait and svc.execute.wait. */
export const workflowWait = {
  poll_interval_seconds: z.number().min(0).default(5).describe(pollText),
  timeout_seconds: z.number().min(0).default(300).describe(timeoutText).transform(capped),
};

export interface AskedWait {
  readonly poll_interval_seconds: number;
  readonly timeout_seconds: number;
}

/** As `EndWaits` takes it. */
export const endWait = ({ poll_interval_seconds, timeout_seconds }: AskedWait, signal: AbortSignal) => ({
  timeoutMs: timeout_seconds * 1_000,
  lookAgainMs: Math.max(LEAST_POLL_SECONDS, poll_interval_seconds) * 1_000,
  signal,
});
