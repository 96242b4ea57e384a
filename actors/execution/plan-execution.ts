import type { AgentManifest } from '../../manifests/agent/schema.ts';
import { SvcError } from '../../runtime/errors.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionPlan } from './plan.ts';
import { planGrant } from './plan-tools.ts';
import { panelCheck, planValidator, unimplemented } from './plan-validators.ts';
import { checkTemplate } from './prompt-template.ts';
import { narrow, type SecurityPolicy } from './security-policy.ts';

/** Annotation that says what happens to a program whose outcome is unknown after a crash: `retry` or `fail`. */
export const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

/**
 * What is to be run, or why it cannot be: throws `unsupported_isolation`, `unimplemented` or `invalid_manifest`, each
 * naming the path in the manifest, so that nothing starts that could not end well.
 */
export function planExecution(manifest: AgentManifest, policy: SecurityPolicy): ExecutionPlan {
  const { spec, metadata } = manifest;
  refuseForeignIsolation(spec.runtime.isolation);
  const limits = policy.resource_limits ?? {};
  const timeoutMs = narrow(
    spec.security.resources.timeout_ms ?? LIMITS.executionTimeoutMs,
    (limits.timeout_seconds ?? 0) * 1_000,
  );
  const template = spec.task.prompt_template ?? null;
  if (template !== null) checkTemplate(template, 'spec.task.prompt_template');
  const path = spec.advanced.bootstrap_path;
  const inContainer = spec.runtime.isolation === 'docker';
  if (path !== undefined) refuseUnenforceable(policy, inContainer);
  const tools = planGrant(manifest, policy);
  const cpu_millicores = narrow(spec.security.resources.cpu_millicores, limits.cpu_millicores);
  const memory_bytes = narrow(spec.security.resources.memory_bytes, limits.memory_bytes);
  return {
    instruction: spec.task.instruction ?? '',
    prompt_template: template,
    agentskills: spec.task.agentskills,
    context: contextText(spec.context),
    model: spec.runtime.model,
    temperature: spec.runtime.temperature ?? null,
    llm_timeout_seconds: spec.execution.llm_timeout_seconds,
    max_iterations: spec.execution.mode === 'one-shot' ? 1 : spec.execution.max_iterations,
    iteration_timeout_ms: spec.execution.iteration_timeout_ms,
    execution_timeout_ms: timeoutMs,
    ...(spec.execution.memory ? { memory: true } : {}),
    validators: spec.execution.validation.map(planValidator),
    tool_checks: spec.execution.tool_validation.map(panelCheck),
    tools,
    container: inContainer
      ? {
          image: spec.runtime.image ?? null,
          language: spec.runtime.language ?? null,
          version: spec.runtime.version ?? null,
          image_pull_policy: spec.runtime.image_pull_policy,
          bootstrap_path: path ?? null,
          env: spec.env,
          cpu_millicores,
          memory_bytes,
          disk_bytes: spec.security.resources.disk_bytes,
          network: isOpen(tools.network) ? 'open' : 'none',
        }
      : null,
    program:
      path === undefined || inContainer
        ? null
        : { path, env: spec.env, cpu_millicores, memory_bytes, on_in_doubt: onInDoubt(metadata.annotations) },
  };
}

const isOpen = (network: ExecutionPlan['tools']['network']): boolean =>
  network?.mode === 'allow' && network.allowlist.length === 0 && network.denylist.length === 0;

/**
 * A program of isolation `process` is no sandbox: rules nobody would enforce are refused, never ignored. A container has
 * no network where a list of domains is given, but its own program sees all of its mounts.
 */
function refuseUnenforceable(policy: SecurityPolicy, inContainer: boolean): void {
  for (const field of ['network_policy', 'filesystem_policy'] as const) {
    const rules = policy[field];
    if (inContainer && field === 'network_policy') continue;
    if (rules === null || rules === undefined || Object.values(rules).every((list) => list.length === 0)) continue;
    const isolation = inContainer ? 'docker' : 'process';
    throw new SvcError('unsupported_isolation', `security_policy.${field}: isolation ${isolation} cannot enforce it`, {
      field: `security_policy.${field}`,
    });
  }
}

function refuseForeignIsolation(isolation: AgentManifest['spec']['runtime']['isolation']): void {
  if (isolation === 'process' || isolation === 'docker' || isolation === 'inherit') return;
  throw new SvcError(
    'unsupported_isolation',
    `spec.runtime.isolation: this node cannot run isolation ${isolation}; it runs process, docker and inherit`,
    { field: 'spec.runtime.isolation' },
  );
}

function contextText(context: AgentManifest['spec']['context']): string {
  return context
    .map((item, index) => {
      if (item.type !== 'text') throw unimplemented(`spec.context[${index}]`, `context of type ${item.type}`);
      return item.description === undefined ? item.content : `${item.description}:\n${item.content}`;
    })
    .join('\n\n');
}

function onInDoubt(annotations: Readonly<Record<string, string>>): 'retry' | 'fail' {
  const value = annotations[ON_IN_DOUBT] ?? 'retry';
  if (value === 'retry' || value === 'fail') return value;
  const path = `metadata.annotations.${ON_IN_DOUBT}`;
  throw new SvcError('invalid_manifest', `${path}: expected retry or fail`, {
    field: path,
    details: [{ path, message: 'expected retry or fail' }],
  });
}
