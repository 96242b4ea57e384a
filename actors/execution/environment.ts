import type { ToolMount } from '../../manifests/tool/call.ts';
import { keepHead } from './bounded-text.ts';
import { historyJson } from './history.ts';
import { LIMITS } from './limits.ts';
import { usesWorkspace, WORKSPACE, wantsTools } from './plan.ts';
import type { IdleExecution } from './state.ts';

/**
 * The volumes of an execution, shared by its tools, program, container and validators. When anything besides a program needs
 * files, the execution has its own workspace with the id of the execution, unless its workflow mounts a volume there (W5).
 * Volumes that only this run uses are created on first use.
 */
export function mountsOf(execution: IdleExecution): ToolMount[] {
  const { mounts = [], workflow_execution_id: parent, execution_id, plan } = execution;
  const given = mounts.map(({ of_manifest: _origin, ...mount }) => ({ ...mount, create: mount.volume_id === parent }));
  const covered = given.some(({ mount_path }) => mount_path.replace(/\/+$/, '') === WORKSPACE);
  if (covered || !usesWorkspace(plan)) return given;
  return [...given, { volume_id: execution_id, mount_path: WORKSPACE, read_only: false, create: true }];
}

/** Security context when the manifest names none (W33). */
const DEFAULT_CONTEXT = 'svc-system-agent-runtime';

/**
 * Environment variables of a program or container (W26). The effect that starts it adds the values that only its node knows:
 * its addresses and the execution's capability token (SVC_ORCHESTRATOR_URL, SVC_SEAL_GATEWAY_URL).
 */
export function nodeEnvironment(execution: IdleExecution): Record<string, string> {
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
    ...(wantsTools(plan) || plan.container !== null
      ? { SVC_SECURITY_CONTEXT: plan.tools.security_context ?? DEFAULT_CONTEXT }
      : {}),
  };
}

/** Text that must not be read as a reference (S3), cut to the size limit of an environment variable. */
function literal(text: string): string {
  const bounded = keepHead(argument(text), Math.floor(LIMITS.environmentTextBytes / 3));
  return /^(env|secret|config|literal):/.test(bounded) ? `literal:${bounded}` : bounded;
}

/** Arguments and environment cannot hold NUL. */
export function argument(text: string): string {
  return text.replaceAll('\u0000', '\ufffd');
}
