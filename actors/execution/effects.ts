import type { EffectRequest } from '../../runtime/define-actor.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { keepHead } from './bounded-text.ts';
import { historyJson } from './history.ts';
import { LIMITS } from './limits.ts';
import type { executionMessages } from './messages.ts';
import type { IdleExecution } from './state.ts';

type Request = EffectRequest<keyof typeof executionMessages & string>;

/** The one effect of an iteration: the agent's program, or the model when it has none. */
export function iterationEffect(execution: IdleExecution, prompt: string, now: number): Request {
  const { plan } = execution;
  const timeLeftMs = Math.max(1, Date.parse(execution.started_at) + plan.execution_timeout_ms - now);
  const timeoutMs = Math.min(plan.iteration_timeout_ms, timeLeftMs);
  const context: Json = { iteration: execution.iteration_count };
  if (plan.program === null) {
    return {
      kind: 'model.generate',
      mode: 'repeatable',
      input: modelInput(execution, prompt),
      replyAs: 'ModelAnswered',
      progressAs: 'ModelChunk',
      context,
      retry: { maxAttempts: 4, initialDelayMs: 1_000, maxDelayMs: 30_000 },
      timeoutMs: Math.min(timeoutMs, plan.llm_timeout_seconds * 1_000),
    };
  }
  return {
    kind: 'program.run',
    mode: 'once',
    input: programInput(execution, plan.program, prompt, timeoutMs),
    replyAs: 'ProgramEnded',
    progressAs: 'ProgramChunk',
    context,
    // Only for failures before the program started, which the effect reports as kind `retry`.
    retry: { maxAttempts: 3, initialDelayMs: 500, maxDelayMs: 5_000 },
  };
}

function modelInput(execution: IdleExecution, prompt: string): JsonObject {
  const { model, temperature } = execution.plan;
  return {
    model,
    messages: [{ role: 'user', content: prompt }],
    iteration: execution.iteration_count,
    ...(temperature === null ? {} : { temperature }),
  };
}

type Program = NonNullable<IdleExecution['plan']['program']>;

function programInput(execution: IdleExecution, program: Program, prompt: string, timeoutMs: number): JsonObject {
  return {
    path: program.path,
    args: [argument(prompt)],
    env: { ...program.env, ...nodeEnvironment(execution) },
    execution_id: execution.execution_id,
    ...mountsOf(execution),
    limits: {
      timeout_ms: timeoutMs,
      memory_bytes: program.memory_bytes,
      cpu_millicores: program.cpu_millicores,
      output_bytes: LIMITS.outputBytes,
    },
  };
}

/** The implicit workspace of a workflow is made by the first that needs it. */
function mountsOf({ mounts = [], workflow_execution_id: parent }: IdleExecution): JsonObject {
  if (mounts.length === 0) return {};
  return { mounts: mounts.map((mount) => ({ ...mount, ...(mount.volume_id === parent ? { create: true } : {}) })) };
}

/** What the node tells a program (original-facts 2.11). */
function nodeEnvironment(execution: IdleExecution): Record<string, string> {
  const { plan } = execution;
  return {
    SVC_AGENT_ID: execution.agent_id,
    SVC_EXECUTION_ID: execution.execution_id,
    SVC_ITERATION: String(execution.iteration_count),
    SVC_ITERATION_HISTORY: historyJson(execution.attempts),
    SVC_MODEL_ALIAS: literal(plan.model),
    SVC_AGENT_INSTRUCTION: literal(plan.instruction),
    SVC_PROMPT_TEMPLATE: literal(plan.prompt_template ?? ''),
    SVC_LLM_TIMEOUT_SECONDS: String(plan.llm_timeout_seconds),
  };
}

/** Text that must not be read as a reference (design S3), cut to what an environment variable can hold. */
function literal(text: string): string {
  const bounded = keepHead(argument(text), Math.floor(LIMITS.environmentTextBytes / 3));
  return /^(env|secret|config|literal):/.test(bounded) ? `literal:${bounded}` : bounded;
}

/** Arguments and environment cannot hold NUL. */
function argument(text: string): string {
  return text.replaceAll('\u0000', '\ufffd');
}
