import { z } from 'zod';
import type { ToolCall } from '../tool.ts';
import type { EndWait } from './ports.ts';

/** A call of a tool ends after 630 s, so a wait does before: longer ones are asked for again. */
const MAX_WAIT_SECONDS = 600;
/** Looking again is only for wake-ups that were lost: more often is no use. */
const LEAST_POLL_SECONDS = 1;

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

/** What is left of a call for its answer, milliseconds. */
const FOR_THE_ANSWER_MS = 5_000;

/**
 * As `EndWaits` takes it; never longer than the call itself may take. One that is repeated after a crash waits for what is
 * left: the caller's time began with the first.
 */
export function endWait({ poll_interval_seconds, timeout_seconds }: AskedWait, call: ToolCall): EndWait {
  const { signal, timeoutMs: mostMs = Number.POSITIVE_INFINITY, askedAgoMs = 0 } = call;
  return {
    timeoutMs: Math.max(0, Math.min(timeout_seconds * 1_000 - askedAgoMs, mostMs - FOR_THE_ANSWER_MS)),
    lookAgainMs: Math.max(LEAST_POLL_SECONDS, poll_interval_seconds) * 1_000,
    signal,
  };
}
