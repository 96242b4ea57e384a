import { programRules } from '../../manifests/tool/program-rules.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { argument, nodeEnvironment } from './environment.ts';
import { LIMITS } from './limits.ts';
import type { ContainerPlan } from './plan.ts';
import type { IdleExecution } from './state.ts';
import { mountsOf } from './workspace.ts';

/**
 * Input of the effect `agent.container`: one iteration of an agent of isolation `docker`. It is `repeatable`: another
 * attempt adopts the container by the effect's id. Progress values: `{container_id}` once it runs, before the bootstrap
 * begins, and `{text}` chunks of stdout where `stream` is true. Its value has the shape of `program.run`'s: `exit_code`,
 * `stdout`, `stderr`, `stdout_truncated`, `timed_out`, `stopped_by?`, `signal?`.
 *
 * - `image`, `language`, `version`: null where the manifest names none; all null is the node's default image.
 * - `bootstrap_path`: null is the node's own bootstrap, which asks the gateway to generate and prints the final content.
 *   Its printed text is not used: the loop's own answer is the output. With `stream` false no chunk is wanted.
 * - `prompt`: the one argument of the bootstrap.
 * - `env`: as of `program.run` (`secret:NAME`, `config:NAME`, `literal:TEXT`, or text). The effect adds what only its node
 *   knows: SVC_ORCHESTRATOR_URL (with the capability token), SVC_SEAL_ENABLED, SVC_SEAL_GATEWAY_URL.
 * - `network`: `open` only where the manifest allows everything.
 * - `read_only`: the manifest says so: nothing but /tmp can be written, by the bootstrap and by commands in the container.
 * - `mounts`: `create` volumes are made when they are not there; one of them is always at /workspace.
 */
export function containerInput(
  execution: IdleExecution,
  container: ContainerPlan,
  prompt: string,
  timeoutMs: number,
): JsonObject {
  const { image, language, version, image_pull_policy, bootstrap_path, network } = container;
  return {
    ...{ image, language, version, image_pull_policy, bootstrap_path, network },
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
