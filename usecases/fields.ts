import { z } from 'zod';

export interface EndWait {
  readonly timeoutMs: number;
  readonly lookAgainMs: number;
  readonly signal: AbortSignal;
}

/** Text that the system takes as a name or an argument: it cannot hold NUL. */
export const systemText = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((value) => !value.includes('\0'), 'expected text without NUL');

/** Arguments that several management tools share (W34–W36). */

const NAME_CHARS = 256;

/** Entries of a log that one call answers with, at most (W36). */
export const MAX_LOG_EVENTS = 200;

/** Entries of a list that one call answers with, at most (H3). */
export const MAX_LISTED = 1_000;

/** What the stores leave out of a list at most. */
const MAX_OFFSET = 1_000_000;

/** Longest goal, description or answer in words, characters. */
export const TEXT_CHARS = 65_536;

/** Longest manifest, characters. */
const MANIFEST_CHARS = 1024 * 1024;

export const manifestYaml = systemText(MANIFEST_CHARS).min(1).describe('The whole manifest, YAML.');

export const force = z
  .boolean()
  .default(false)
  .describe('Overwrites the same name and version; a new version is the better way.');

/** A UUID in any case is one and the same. */
const uuid = (what: string) =>
  z
    .guid(`expected ${what}`)
    .describe(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`)
    .toLowerCase();

export const agentId = uuid('the UUID of an agent');

export const executionId = uuid('the UUID of an execution');

/** A UUID in lower case, and names as they are. */
export const nameOrUuid = (what: string) => systemText(NAME_CHARS).min(1).describe(`Name or UUID of ${what}.`);

export const version = systemText(64).min(1).optional().describe('Default: the latest deployed version.');

export const tenantId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'expected a tenant slug')
  .optional()
  .describe('Default: your own; others are for service accounts.');

/** More than `most` is no mistake: it is capped. */
export const limit = (usual: number, most: number) =>
  z
    .int()
    .min(1)
    .default(usual)
    .describe(`At most so many; capped at ${most}.`)
    .transform((asked) => Math.min(asked, most));

export const offset = z.int().min(0).max(MAX_OFFSET).default(0).describe('Leaves out so many from the start.');

/** Any JSON object. Two steps: the schema of `z.json()` refers to itself, which clients of MCP do not all follow. */
export const jsonObject = z.record(z.string(), z.unknown()).pipe(z.record(z.string(), z.json()));

/** Parts of results that several management tools share (W37). */

export const executionStatus = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']);

export const workflowStatus = z.enum(['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']);

export const catalogStatus = z.enum(['deployed', 'paused', 'archived']);

export const catalogScope = z.enum(['user', 'tenant', 'global']);

/** ISO 8601. */
export const time = z.string();

export const labels = z.record(z.string(), z.string());

export const count = z.int().min(0);

/** Any object: what it holds is another's. */
export const anyObject = z.record(z.string(), z.unknown());

/** Of a start: it is durable, and goes on by itself. */
export const started = z.strictObject({ execution_id: z.string(), status: z.literal('started') });

/** Entries of a log. */
export const page = { total: count, limit: count, offset: count };

/** A call of a tool ends after 630 s, so a wait does before: longer ones are asked for again. */
const MAX_WAIT_SECONDS = 600;

/** Looking again is only for wake-ups that were lost: more often is no use. */
const LEAST_POLL_SECONDS = 1;

const timeoutText = `Longest wait; capped at ${MAX_WAIT_SECONDS}.`;

const pollText = 'How often it is looked again in case a wake-up was lost; the end is told at once.';

const capped = (asked: number): number => Math.min(asked, MAX_WAIT_SECONDS);

/** Of svc.task.wait and svc.agent.wait (W36). */
export const taskWait = {
  poll_interval_seconds: z.number().min(LEAST_POLL_SECONDS).default(10).describe(pollText),
  timeout_seconds: z.number().min(1).default(300).describe(timeoutText).transform(capped),
};

/** Of svc.workflow.wait and svc.execute.wait. */
export const workflowWait = {
  poll_interval_seconds: z.number().min(0).default(5).describe(pollText),
  timeout_seconds: z.number().min(0).default(300).describe(timeoutText).transform(capped),
};

/** Who waits: a call of a tool, with what is left of its time. */
interface Waiter {
  readonly signal: AbortSignal;
  /** How long it may take, milliseconds. Absent: without end. */
  readonly timeoutMs?: number;
  /** Of a call that is repeated after a crash: how long ago it was first made, milliseconds. */
  readonly askedAgoMs?: number;
}

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
export function endWait({ poll_interval_seconds, timeout_seconds }: AskedWait, call: Waiter): EndWait {
  const { signal, timeoutMs: mostMs = Number.POSITIVE_INFINITY, askedAgoMs = 0 } = call;
  return {
    timeoutMs: Math.max(0, Math.min(timeout_seconds * 1_000 - askedAgoMs, mostMs - FOR_THE_ANSWER_MS)),
    lookAgainMs: Math.max(LEAST_POLL_SECONDS, poll_interval_seconds) * 1_000,
    signal,
  };
}
