import { z } from 'zod';
import { RunLabels } from '../../manifests/metadata.ts';
import type { ToolSubject } from '../../manifests/tool/call.ts';
import { ToolGrant } from '../../manifests/tool/scope.ts';
import { Identity } from '../../runtime/identity.ts';
import { cachedSchema, type JsonObject, jsonField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { CallInDoubt, Loop, ToolHistory } from './inner-loop/state.ts';
import { Hint, MemoryWait } from './memory/state.ts';
import { ExecutionPlan, Mounts } from './plan.ts';
import { StreamedText } from './streamed.ts';
import { IterationResult } from './validators/json-schema.ts';

export const Usage = z.object({
  input_tokens: z.number().nonnegative(),
  output_tokens: z.number().nonnegative(),
  cost: z.number().nonnegative(),
});

export type Usage = z.infer<typeof Usage>;

/** Verdict of one validator. `reason`: why it failed, or empty. */
export const Verdict = z.object({
  validator: z.string(),
  passed: z.boolean(),
  score: z.number(),
  reason: z.string(),
});

export type Verdict = z.infer<typeof Verdict>;

/** A failed iteration, as later prompts and SVC_ITERATION_HISTORY show it. Texts are bounded (limits.ts). */
export const Attempt = z.object({
  iteration: z.number().int(),
  error_type: z.string(),
  message: z.string(),
  output: z.string().nullable(),
  exit_code: z.number().int().nullable(),
  verdicts: z.array(Verdict),
});

export type Attempt = z.infer<typeof Attempt>;

/** The judge of the running iteration's result, and the verdicts so far. */
const Judging = z.object({
  by: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('panel'), panel_id: z.string(), judges: z.number().int() }),
    z.object({ kind: z.literal('model'), effect_id: z.string() }),
    /** No judge: an effect reads files of the workspace. */
    z.object({ kind: z.literal('files'), effect_id: z.string() }),
    /** No judge: an effect runs the script of a validator. */
    z.object({ kind: z.literal('script'), effect_id: z.string() }),
  ]),
  result: IterationResult,
  /** Verdicts of the earlier validators: their number is the index of this one. */
  verdicts: z.array(Verdict),
});

export type Judging = z.infer<typeof Judging>;

/** A run that a worker outside of the fleet's store executes (P4). */
const Forwarded = z.object({
  /** Tags that the worker must have. */
  tags: z.array(z.string()),
  /** After the loss of the worker: another one repeats the run, or the run fails (`svc.dev/on-in-doubt`). */
  on_lost: z.enum(['retry', 'fail']),
  /** Node id of the worker that sent the last event; null before the first. */
  worker: z.string().nullable(),
  /** Events received from that worker. */
  seen: z.number().int(),
  /** Number of iterations before those of that worker. */
  offset: z.number().int(),
  /** Whether an iteration is open. */
  open: z.boolean(),
});

export type Forwarded = z.infer<typeof Forwarded>;

/** The running iteration. `phaseOf` (phase.ts) derives the present activity of the execution from it. */
const Iteration = z.object({
  /** Of the program, the container or the model; empty in the phases loop and memory. */
  effect_id: z.string(),
  /** How often this iteration's effect was requested again after an outcome in doubt (E2). */
  in_doubt: z.number().int(),
  /** Answers of the model and ended calls of all loops that its program began (`progressed`); absent: none. */
  progress: z.number().int().optional(),
  /**
   * The last time its program's node died: the number of deaths in a row, and the progress by then; absent: never, or not
   * counted.
   */
  last_doubt: z.object({ in_a_row: z.number().int(), progress: z.number().int() }).optional(),
  streamed: StreamedText,
  /** Phase judging; the iteration's effect has ended. */
  judging: Judging.optional(),
  /** The inner loop of the node, or the last one that the bootstrap requested. */
  loop: Loop.optional(),
  /** Of isolation `docker`, once the container runs. */
  container_id: z.string().optional(),
  /** Phase memory; no iteration is open. */
  memory: MemoryWait.optional(),
  /** Phase context; no iteration has begun. */
  context: z.object({ effect_id: z.string() }).optional(),
  /** Phase worker. */
  forwarded: Forwarded.optional(),
});

const core = {
  execution_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  agent_version: z.string(),
  workflow_execution_id: z.string().nullable(),
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  owner: z.string().optional(),
  /** Given at its start; absent: none. */
  labels: RunLabels.optional(),
  /** Trace of its start; absent in executions of earlier versions. */
  trace_id: z.string().optional(),
  /** The run and the message that it was forked from; absent: it began with a start. */
  forked_from: ForkedFrom.optional(),
  notify: Notify.optional(),
  mounts: Mounts.optional(),
  /** Number of executions above it; absent: none. */
  depth: z.number().int().optional(),
  /** Whether verdicts of its judges are read inside prose; absent: not. */
  in_prose: z.boolean().optional(),
  /** `RUN_RULES` of its start; absent: 0. */
  rules: z.number().int().optional(),
  /** Hash of a start that a controller forwarded here. */
  request_hash: z.string().optional(),
  /** Iterations started so far; the number of the running one. */
  iteration_count: z.number().int(),
  attempts: z.array(Attempt),
  last_output: z.string().nullable(),
  last_error: z.string().nullable(),
  usage: Usage,
  /** Effects that were requested again after an outcome in doubt, over all iterations. */
  in_doubt: z.number().int(),
  /** Tool calls that have run, over all iterations. */
  tool_calls_executed: z.number().int(),
  /** Tool calls of which it is unknown whether they acted; they were not repeated. */
  calls_in_doubt: z.array(CallInDoubt),
  started_at: z.string(),
  updated_at: z.string(),
};

const Pending = z.object({ status: z.literal('pending') });

const Running = z.object({
  status: z.literal('running'),
  ...core,
  plan: cachedSchema(ExecutionPlan),
  input: z.string(),
  /** Template variables of the caller. */
  variables: z.record(z.string(), jsonField),
  /** The caller that started it: judges run in its name, and its limits apply. */
  identity: Identity.optional(),
  /** The grant of its tools, pinned on first use. */
  grant: cachedSchema(ToolGrant).optional(),
  /** Attested sessions; they end with the execution. */
  sessions: z.array(z.string()),
  tool_history: z.array(ToolHistory),
  /** Text of `spec.context` with the files and URLs read; absent: the plan has the text, or nothing is read yet. */
  context_text: z.string().optional(),
  /** Solutions of errors like the last one; absent without `execution.memory`. */
  hints: z.array(Hint).optional(),
  current: Iteration,
});

const Ended = z.object({
  status: z.enum(['completed', 'failed', 'cancelled']),
  ...core,
  /** Reason of execution_failed; null when completed. */
  reason: z.string().nullable(),
  ended_at: z.string(),
});

/**
 * State of an execution. It is bounded: texts are cut (limits.ts), and an ended execution drops the fields that it no longer
 * needs.
 */
export const ExecutionState = z.discriminatedUnion('status', [Pending, Running, Ended]);

export type ExecutionState = z.infer<typeof ExecutionState>;

export type RunningExecution = z.infer<typeof Running>;

export type EndedExecution = z.infer<typeof Ended>;

/** A running execution between two iterations. */
export type IdleExecution = Omit<RunningExecution, 'current'>;

/** The caller whose limits apply: the one that started the execution. A start without an identity is the kernel's own. */
export function principalOf({ identity }: IdleExecution): ToolSubject['principal'] {
  if (identity === undefined) return { kind: 'actor', subject: 'execution', roles: [], tier: 'free' };
  const { kind, subject, roles, tier, confidential, tenants } = identity;
  return {
    kind,
    subject,
    roles: [...roles],
    tier,
    ...(confidential === true ? { confidential } : {}),
    ...(tenants === undefined ? {} : { tenants: [...tenants] }),
  };
}

/** `principal` in the input of `model.generate`; absent: the limits of no caller apply. */
export function principalPart({ identity }: IdleExecution): JsonObject {
  if (identity === undefined) return {};
  const { kind, subject, tier } = identity;
  return { principal: { kind, subject, tier } };
}

type ProgressIteration = RunningExecution['current'];

/**
 * A loop of a program has made progress: the model has answered, or a call has ended. A call in doubt does not count, because
 * it may have killed the node.
 */
export function progressed(running: RunningExecution): RunningExecution {
  const { current } = running;
  if (current.loop?.by !== 'gateway') return running;
  return { ...running, current: { ...current, progress: progressOf(current) + 1 } };
}

/** How often in a row the node died without progress in between, this time included. */
export function deathsInARow({ in_doubt, last_doubt, ...current }: ProgressIteration): number {
  if (last_doubt === undefined) return in_doubt + 1;
  return progressOf(current) > last_doubt.progress ? 1 : last_doubt.in_a_row + 1;
}

export const progressOf = ({ progress = 0 }: Pick<ProgressIteration, 'progress'>): number => progress;
