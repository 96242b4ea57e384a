import { programRules } from '../../manifests/tool/contract.ts';
import type { EffectRequest } from '../../runtime/define-actor.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { argument, mountsOf, nodeEnvironment } from './environment.ts';
import { LIMITS } from './limits.ts';
import type { executionMessages } from './messages.ts';
import type { ContainerPlan } from './plan.ts';
import { type IdleExecution, principalPart } from './state.ts';

type Request = EffectRequest<keyof typeof executionMessages & string>;

/** Retries of `model.generate`. The effect itself tries several targets within each attempt. */
export const MODEL_RETRY = { maxAttempts: 4, initialDelayMs: 1_000, maxDelayMs: 30_000 } as const;

/** The effect of an iteration whose loop does not run in the node: the agent's container, its program, or the model. */
export function iterationEffect(execution: IdleExecution, prompt: string, now: number): Request {
  const { plan } = execution;
  const timeoutMs = timeLeftMs(execution, now);
  const context: Json = { iteration: execution.iteration_count };
  if (plan.container !== null) {
    return {
      kind: 'agent.container',
      mode: 'repeatable',
      input: containerInput(execution, plan.container, prompt, timeoutMs),
      replyAs: 'ProgramEnded',
      progressAs: 'ProgramChunk',
      context,
      retry: { maxAttempts: 5, initialDelayMs: 500, maxDelayMs: 10_000 },
    };
  }
  if (plan.program === null) {
    return {
      kind: 'model.generate',
      mode: 'repeatable',
      ahead: true,
      input: modelInput(execution, prompt),
      replyAs: 'ModelAnswered',
      progressAs: 'ModelChunk',
      context,
      retry: MODEL_RETRY,
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
    // Only failures before the program started, which the effect reports as kind `retry`.
    retry: { maxAttempts: 3, initialDelayMs: 500, maxDelayMs: 5_000 },
  };
}

/** Time limit of a new iteration: its own, or the rest of the execution's when that is less. */
function timeLeftMs({ plan, started_at }: IdleExecution, now: number): number {
  const executionLeftMs = Math.max(1, Date.parse(started_at) + plan.execution_timeout_ms - now);
  return Math.min(plan.iteration_timeout_ms, executionLeftMs);
}

function modelInput(execution: IdleExecution, prompt: string): JsonObject {
  const { model, temperature } = execution.plan;
  return {
    model,
    messages: [{ role: 'user', content: prompt }],
    iteration: execution.iteration_count,
    ...(temperature === null ? {} : { temperature }),
    ...principalPart(execution),
  };
}

type Program = NonNullable<IdleExecution['plan']['program']>;

function programInput(execution: IdleExecution, program: Program, prompt: string, timeoutMs: number): JsonObject {
  const mounts = mountsOf(execution);
  return {
    path: program.path,
    args: [argument(prompt)],
    env: { ...program.env, ...nodeEnvironment(execution) },
    execution_id: execution.execution_id,
    ...(mounts.length === 0
      ? {}
      : { mounts: mounts.map(({ create, ...mount }) => (create ? { ...mount, create } : mount)) }),
    limits: {
      timeout_ms: timeoutMs,
      memory_bytes: program.memory_bytes,
      cpu_millicores: program.cpu_millicores,
      output_bytes: LIMITS.outputBytes,
    },
    rules: programRules(execution.plan.tools),
  };
}

/**
 * Input of the effect `agent.container`: one iteration of an agent of isolation `docker`. It is `repeatable`: another attempt
 * adopts the container by the effect's id. Progress values: `{container_id}` once the container runs, before the bootstrap
 * begins, and `{text}` chunks of stdout where `stream` is true. Its value has the shape of `program.run`'s: `exit_code`,
 * `stdout`, `stderr`, `stdout_truncated`, `timed_out`, `stopped_by?`, `signal?`.
 *
 * - `image`, `language`, `version`: null where the manifest names none; all null means the node's default image.
 * - `bootstrap_path`: null means the node's own bootstrap, which asks the gateway to generate and prints the final content. Its
 *   printed text is not used: the loop's answer is the output. With `stream` false no chunks are sent.
 * - `prompt`: the only argument of the bootstrap.
 * - `env`: as for `program.run` (`secret:NAME`, `config:NAME`, `literal:TEXT`, or text). The effect adds the values that only
 *   its node knows: SVC_ORCHESTRATOR_URL (with the capability token), SVC_SEAL_ENABLED, SVC_SEAL_GATEWAY_URL.
 * - `network`: `open` only where the manifest allows everything.
 * - `read_only`: the bootstrap and the commands in the container can write only to /tmp.
 * - `mounts`: `create` volumes are created if they are missing; one of the mounts is always at /workspace.
 */
function containerInput(
  execution: IdleExecution,
  container: ContainerPlan,
  prompt: string,
  timeoutMs: number,
): JsonObject {
  const { image, language, version, image_pull_policy, bootstrap_path, network } = container;
  return {
    image,
    language,
    version,
    image_pull_policy,
    bootstrap_path,
    network,
    prompt: argument(prompt),
    env: { ...container.env, ...nodeEnvironment(execution) },
    execution_id: execution.execution_id,
    agent_id: execution.agent_id,
    iteration: execution.iteration_count,
    read_only: programRules(execution.plan.tools).read_only,
    mounts: mountsOf(execution),
    stream: bootstrap_path !== null,
    limits: {
      timeout_ms: timeoutMs,
      memory_bytes: container.memory_bytes,
      cpu_millicores: container.cpu_millicores,
      disk_bytes: container.disk_bytes,
      output_bytes: LIMITS.outputBytes,
    },
  };
}
