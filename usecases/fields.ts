import { z } from 'zod';

export interface EndWait {
  readonly timeoutMs: number;
  readonly lookAgainMs: number;
  readonly signal: AbortSignal;
}

/** Text that goes to the operating system as a name or an argument: NUL is refused. */
export const systemText = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((value) => !value.includes('\0'), 'expected text without NUL');

/** Arguments that several management tools share (W34–W36). */

const NAME_CHARS = 256;

/** Most log entries in one answer (W36). */
export const MAX_LOG_EVENTS = 200;

/** Most list entries in one answer (H3). */
export const MAX_LISTED = 1_000;

/** Largest offset of a list that the stores accept. */
const MAX_OFFSET = 1_000_000;

/** Longest goal, description or answer, in characters. */
export const TEXT_CHARS = 65_536;

/** Longest manifest, in characters. */
const MANIFEST_CHARS = 1024 * 1024;

export const manifestYaml = systemText(MANIFEST_CHARS).min(1).describe('The whole manifest, YAML.');

/** The flag of deletes. */
export const forceDelete = z
  .boolean()
  .optional()
  .describe('Deletes it although executions of it run: those keep their manifest and go on. Default: false.');

export const force = z.boolean().default(false).describe('Overwrites the same name and version; prefer a new version.');

/** A UUID, lower-cased: upper and lower case name the same thing. */
const uuid = (what: string) =>
  z
    .guid(`expected ${what}`)
    .describe(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`)
    .toLowerCase();

export const agentId = uuid('the UUID of an agent');

export const executionId = uuid('the UUID of an execution');

export const requestId = uuid('the UUID of an approval request');

/** A UUID in lower case, or a name unchanged. */
export const nameOrUuid = (what: string) => systemText(NAME_CHARS).min(1).describe(`Name or UUID of ${what}.`);

export const version = systemText(64).min(1).optional().describe('Default: the latest deployed version.');

export const tenantId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'expected a tenant slug')
  .optional()
  .describe('Default: the tenant of the caller; service accounts may name another.');

/** Number of entries to return, default `usual`. A value above `most` is capped, not refused. */
export const limit = (usual: number, most: number) =>
  z
    .int()
    .min(1)
    .default(usual)
    .describe(`Maximum number of entries; at most ${most}.`)
    .transform((asked) => Math.min(asked, most));

export const offset = z.int().min(0).max(MAX_OFFSET).default(0).describe('Number of entries to skip.');

/**
 * Any JSON object. The check has two steps because the schema of `z.json()` refers to itself, which some MCP clients
 * cannot follow.
 */
export const jsonObject = z.record(z.string(), z.unknown()).pipe(z.record(z.string(), z.json()));

/** Parts of results that several management tools share (W37). */

export const executionStatus = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']);

export const workflowStatus = z.enum(['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']);

export const catalogStatus = z.enum(['deployed', 'paused', 'archived']);

export const catalogScope = z.enum(['user', 'tenant', 'global']);

/** An ISO 8601 time. */
export const time = z.string();

export const labels = z.record(z.string(), z.string());

export const count = z.int().min(0);

/** Any object whose fields belong to another area. */
export const anyObject = z.record(z.string(), z.unknown());

/** The answer to a start: the start is durable and the run continues without the caller. */
export const started = z.strictObject({ execution_id: z.string(), status: z.literal('started') });

/** The paging fields of a log answer. */
export const page = { total: count, limit: count, offset: count };

/**
 * Longest wait of one call. A tool call ends after 630 s, so its wait ends before; a caller that wants to wait longer repeats
 * the call.
 */
const MAX_WAIT_SECONDS = 600;

/**
 * Shortest interval for checking again. The check only replaces lost wake-ups, so more frequent checks would not help.
 */
const LEAST_POLL_SECONDS = 1;

const timeoutText = `Longest wait; capped at ${MAX_WAIT_SECONDS}.`;

const pollText =
  'Interval at which the state is read again in case a wake-up was lost. The end itself is reported at once.';

const capped = (asked: number): number => Math.min(asked, MAX_WAIT_SECONDS);

/** Arguments of svc.task.wait and svc.agent.wait (W36). */
export const taskWait = {
  poll_interval_seconds: z.number().min(LEAST_POLL_SECONDS).default(10).describe(pollText),
  timeout_seconds: z.number().min(1).default(300).describe(timeoutText).transform(capped),
};

/** Arguments of svc.workflow.wait and svc.execute.wait. */
export const workflowWait = {
  poll_interval_seconds: z.number().min(0).default(5).describe(pollText),
  timeout_seconds: z.number().min(0).default(300).describe(timeoutText).transform(capped),
};

/** The tool call that waits, with its remaining time. */
interface Waiter {
  /** Longest time of the call, ms. Absent: no limit. */
  readonly timeoutMs?: number;
  /** For a call repeated after a crash: ms since it was first made. */
  readonly askedAgoMs?: number;
}

export interface AskedWait {
  readonly poll_interval_seconds: number;
  readonly timeout_seconds: number;
}

/** Time that a call keeps for sending its answer, ms. */
const FOR_THE_ANSWER_MS = 5_000;

/**
 * The wait in the form of `EndWaits`, never longer than the call itself may take. A call that is repeated after a crash
 * waits only for the remaining time, since the caller's time began with the first call.
 */
export function endWait(
  { poll_interval_seconds, timeout_seconds }: AskedWait,
  call: Waiter,
  signal: AbortSignal,
): EndWait {
  const { timeoutMs: mostMs = Number.POSITIVE_INFINITY, askedAgoMs = 0 } = call;
  return {
    timeoutMs: Math.max(0, Math.min(timeout_seconds * 1_000 - askedAgoMs, mostMs - FOR_THE_ANSWER_MS)),
    lookAgainMs: Math.max(LEAST_POLL_SECONDS, poll_interval_seconds) * 1_000,
    signal,
  };
}
