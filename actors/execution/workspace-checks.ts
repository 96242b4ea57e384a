import {
  CHECK_LIMITS,
  type FilesRequest,
  type ScriptRequest,
  type ScriptResult,
} from '../../manifests/agent/workspace-checks.ts';
import { programRules } from '../../manifests/tool/contract.ts';
import type { GrantRequest } from '../../manifests/tool/scope.ts';
import { plainObject } from '../../runtime/json.ts';
import { keepTail } from './bounded-text.ts';
import { judgeTimeoutMs } from './ending.ts';
import { subjectOf } from './inner-loop/audit.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import type { ContainerPlan, ExecutionPlan, FileCheck, ScriptCheck } from './plan.ts';
import type { Judging, RunningExecution } from './state.ts';
import { neededFiles } from './validators/files.ts';
import type { Complaint, IterationResult } from './validators/json-schema.ts';

/** The effect itself waits while the node's store is unreachable; these retries are for other passing failures. */
const RETRY = { maxAttempts: 4, initialDelayMs: 500, maxDelayMs: 10_000 } as const;

/** Requests the files that a validator checks. The request has no time limit of its own: the iteration's ends the wait. */
export function askFiles(running: RunningExecution, check: FileCheck, turn: ExecutionTurn): Judging['by'] {
  const request: FilesRequest = {
    files: neededFiles(check).map(({ path, holds }) => ({
      path,
      max_bytes: holds === 'schema' ? CHECK_LIMITS.schemaBytes : CHECK_LIMITS.targetBytes,
    })),
    grant: { ...running.plan.tools, manifest: null },
    subject: subjectOf(running, running.execution_id),
  };
  const effect_id = turn.effect({
    kind: 'files.read',
    mode: 'repeatable',
    input: plainObject(request),
    replyAs: 'FilesRead',
    context: { iteration: running.iteration_count },
    retry: RETRY,
  });
  return { kind: 'files', effect_id };
}

/** Requests a run of the script, where the agent runs: on the host, or in a container of its image. */
export function askScript(
  running: RunningExecution,
  check: ScriptCheck,
  { stdout }: IterationResult,
  turn: ExecutionTurn,
): Judging['by'] {
  const { plan } = running;
  const request: ScriptRequest = {
    path: check.path,
    input: stdout,
    timeout_ms: judgeTimeoutMs(running, check.timeout_ms, turn.now),
    grant: scriptGrant(plan, check),
    subject: subjectOf(running, running.execution_id),
  };
  const { container } = plan;
  const effect_id = turn.effect({
    kind: container === null ? 'script.run' : 'script.container',
    mode: 'repeatable',
    input: plainObject(container === null ? request : { ...request, container: containerOf(plan, container) }),
    replyAs: 'ScriptEnded',
    context: { iteration: running.iteration_count },
    retry: RETRY,
  });
  return { kind: 'script', effect_id };
}

/**
 * The grant under which the script runs as a command: only this command is allowed, since the manifest names it, and the
 * manifest's other rules for commands apply, except their allowlist.
 */
function scriptGrant({ tools }: ExecutionPlan, { path, timeout_ms }: ScriptCheck): GrantRequest {
  const own = tools.manifest?.find(({ name, executor }) => executor === 'builtin:cmd' || name === 'cmd.run');
  const config = {
    ...own?.config,
    timeout_ceiling_secs: Math.ceil(timeout_ms / 1_000),
    subcommand_allowlist: { [path]: [] },
  };
  return { ...tools, manifest: [{ name: 'cmd.run', executor: 'builtin:cmd', config }] };
}

/** The agent's container, as in its iterations but without its variables and the gateway. */
function containerOf(plan: ExecutionPlan, container: ContainerPlan) {
  const { image, language, version, image_pull_policy, network } = container;
  return {
    image,
    language,
    version,
    image_pull_policy,
    network,
    read_only: programRules(plan.tools).read_only,
    limits: {
      memory_bytes: container.memory_bytes,
      cpu_millicores: container.cpu_millicores,
      disk_bytes: container.disk_bytes,
    },
  };
}

/** Why a script rejects the output, with the end of the script's own output; null: it accepts. */
export function scriptComplaint(end: ScriptResult): Complaint {
  if (end.status === 'not_started') return end.reason;
  const { exit_code, stopped_by, timeout_ms, output } = end;
  if (exit_code === 0 && stopped_by === undefined) return null;
  const how =
    stopped_by === undefined
      ? `exit code ${exit_code}`
      : stopped_by === 'timeout'
        ? `it ran longer than ${timeout_ms / 1_000} s and was ended`
        : `it was ended at its limit of ${stopped_by}`;
  return output === '' ? how : `${how}: ${keepTail(output, LIMITS.keptScriptChars)}`;
}
