import type { AgentManifest, Validator } from '../../manifests/agent/schema.ts';
import { EXPECTED_FILE, workspaceFile } from '../../manifests/agent/workspace-checks.ts';
import { findRuntime, type Runtime, type RuntimeTable, shippedRuntimes } from '../../manifests/runtime-table/table.ts';
import type { GrantRequest } from '../../manifests/tool/scope.ts';
import { SvcError } from '../../runtime/errors.ts';
import { plannedContext } from './context/read.ts';
import { LIMITS } from './limits.ts';
import type { StartExecution } from './messages.ts';
import { type ExecutionPlan, narrow, type PanelCheck, type ResultValidator, type SecurityPolicy } from './plan.ts';
import { checkTemplate } from './prompt-template.ts';
import { checkJsonSchema, checkPattern } from './validators/json-schema.ts';

/** Annotation: whether a program whose outcome is unknown after a crash is run again (`retry`) or fails (`fail`). */
const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

/**
 * The plan of a manifest. Throws `unsupported_isolation` or `invalid_manifest` with the path in the manifest, so that an
 * execution which must fail does not start.
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
    ...plannedContext(spec.context),
    model: spec.runtime.model,
    temperature: spec.runtime.temperature ?? null,
    llm_timeout_seconds: spec.execution.llm_timeout_seconds,
    max_iterations: spec.execution.mode === 'one-shot' ? 1 : spec.execution.max_iterations,
    iteration_timeout_ms: spec.execution.iteration_timeout_ms,
    execution_timeout_ms: timeoutMs,
    ...(spec.execution.memory ? { memory: true } : {}),
    validators: spec.execution.validation.map((validator, index) => planValidator(validator, index, inContainer)),
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
 * Isolation `process` is not a sandbox: rules that it cannot enforce are refused, never ignored. A container with a list of
 * domains has no network at all, but its program sees all of its mounts.
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

function onInDoubt(annotations: Readonly<Record<string, string>>): 'retry' | 'fail' {
  const value = annotations[ON_IN_DOUBT] ?? 'retry';
  if (value === 'retry' || value === 'fail') return value;
  const path = `metadata.annotations.${ON_IN_DOUBT}`;
  throw new SvcError('invalid_manifest', `${path}: expected retry or fail`, {
    field: path,
    details: [{ path, message: 'expected retry or fail' }],
  });
}

/** The grant to ask for: the manifest's tools, with network and files narrowed by the caller's policy. */
function planGrant({ spec }: AgentManifest, policy: SecurityPolicy): GrantRequest {
  return {
    ...(spec.security_context === undefined ? {} : { security_context: spec.security_context }),
    manifest: spec.tools.map(({ name, server, executor, config }) => ({
      name,
      ...(server === undefined ? {} : { server }),
      ...(executor === undefined ? {} : { executor }),
      config,
    })),
    network: narrowNetwork(spec.security.network, policy.network_policy ?? {}),
    filesystem: narrowFiles(spec.security.filesystem, policy.filesystem_policy ?? {}),
  };
}

type Network = AgentManifest['spec']['security']['network'];

type Files = AgentManifest['spec']['security']['filesystem'];

type Lists = Readonly<Record<string, readonly string[] | undefined>>;

/** A policy never widens: domains are allowed if both lists allow them; blocked domains are added. */
function narrowNetwork({ mode, allowlist, denylist }: Network, policy: Lists): Network {
  const { allowed_domains: allowed = [], blocked_domains: blocked = [] } = policy;
  const deny = [...new Set([...denylist, ...blocked])];
  if (allowed.length === 0 || mode === 'none') return { mode, allowlist, denylist: deny };
  const everything = mode === 'allow' && allowlist.length === 0;
  const both = everything ? [...allowed] : intersect(allowlist, allowed, coversDomain);
  // In mode deny an empty list allows nothing.
  return { mode: 'deny', allowlist: both, denylist: deny };
}

/** With an empty list the security context decides, so "nothing" needs a pattern that matches nothing. */
const NOTHING = '/.nothing-is-allowed';

function narrowFiles({ read, write, read_only }: Files, policy: Lists): Files {
  const both = (own: string[], given: readonly string[] = []): string[] => {
    if (given.length === 0) return own;
    if (own.length === 0) return [...given];
    const narrowed = intersect(own, given, coversPath);
    return narrowed.length === 0 ? [NOTHING] : narrowed;
  };
  return { read: both(read, policy.read_paths), write: both(write, policy.write_paths), read_only };
}

/** The narrower pattern of each pair in which one covers the other. */
function intersect(
  own: readonly string[],
  given: readonly string[],
  covers: (wide: string, narrow: string) => boolean,
): string[] {
  const kept = own.flatMap((mine) =>
    given.flatMap((theirs) => (covers(mine, theirs) ? [theirs] : covers(theirs, mine) ? [mine] : [])),
  );
  return [...new Set(kept)];
}

/** Exact or a sub-domain at a label boundary (W33); `*.x` covers the sub-domains of `x`. */
function coversDomain(wide: string, narrow: string): boolean {
  const [a, b] = [wide.toLowerCase(), narrow.toLowerCase()];
  if (a === b) return true;
  const isBelow = b.endsWith(`.${a.replace(/^\*\./, '')}`);
  return isBelow && !a.includes('/') && !/^[0-9.]+$/.test(a);
}

/** `/x/**` covers `/x` and everything below it (W5); any other pattern covers only itself. */
function coversPath(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '/**') return true;
  if (!wide.endsWith('/**')) return false;
  const base = wide.slice(0, -3);
  return !/[*?[{]/.test(base) && (narrow === base || narrow.startsWith(`${base}/`));
}

type Of<Type extends Validator['type']> = Extract<Validator, { readonly type: Type }>;

/** The plan of one validator. Throws `invalid_manifest` with its path. */
function planValidator(validator: Validator, index: number, inImage: boolean): ResultValidator {
  const path = `spec.execution.validation[${index}]`;
  switch (validator.type) {
    case 'exit_code':
      return { type: 'exit_code', expected: validator.expected, min_score: validator.min_score };
    case 'stderr_empty':
    case 'tool_call':
    case 'output_format':
      return { ...validator };
    case 'json_schema':
      return schemaCheck(validator, path);
    case 'regex': {
      const { pattern, target, min_score } = validator;
      checkPattern(pattern, `${path}.pattern`);
      if (target === 'stdout' || target === 'stderr') return { type: 'regex', pattern, target, min_score };
      return { type: 'file_regex', pattern, path: fileAt(`${path}.target`, target), min_score };
    }
    case 'semantic':
    case 'multi_judge':
      return panelCheck(validator);
    case 'semantic_prompt': {
      const { model, prompt = null, min_score, timeout_seconds, fallback_on_unavailable: fallback } = validator;
      if (prompt !== null) checkTemplate(prompt, 'spec.execution.validation.semantic.prompt');
      return { type: 'semantic_prompt', model, prompt, min_score, timeout_ms: timeout_seconds * 1_000, fallback };
    }
    case 'script': {
      const { path: given, timeout_seconds, min_score } = validator;
      const script = fileAt('spec.execution.validation.script.path', given, inImage);
      return { type: 'script', path: script, timeout_ms: timeout_seconds * 1_000, min_score };
    }
  }
}

function schemaCheck(validator: Of<'json_schema'>, path: string): ResultValidator {
  const { schema: inline, schema_path = '', target_path, min_score } = validator;
  if (inline !== undefined) checkJsonSchema(inline, `${path}.schema`);
  if (inline !== undefined && target_path === undefined) return { type: 'json_schema', schema: inline, min_score };
  const schema = inline ?? fileAt(`${path}.schema_path`, schema_path);
  const target = target_path === undefined ? null : fileAt(`${path}.target_path`, target_path);
  return { type: 'file_schema', schema, target_path: target, min_score };
}

/** Deployment refuses such paths too; a manifest that an earlier version stored may have one. */
function fileAt(path: string, given: string, inImage = false): string {
  const file = workspaceFile(given, { inImage });
  if (file !== null) return file;
  throw new SvcError('invalid_manifest', `${path}: ${EXPECTED_FILE}`, {
    field: path,
    details: [{ path, message: EXPECTED_FILE }],
  });
}

/** Judges of a result, or of a proposed tool call. */
function panelCheck(validator: Of<'semantic' | 'multi_judge'>): PanelCheck {
  const { criteria, min_score, min_confidence, timeout_seconds } = validator;
  const check = { criteria, min_score, timeout_ms: timeout_seconds * 1_000 };
  if (validator.type === 'semantic') {
    const judges = [validator.judge_agent];
    return {
      type: 'semantic',
      ...check,
      judges,
      consensus: 'weighted_average',
      min_judges_required: 1,
      min_confidence,
    };
  }
  const { judges, consensus, min_judges_required, min_agreement_confidence = 0 } = validator;
  return {
    type: 'multi_judge',
    ...check,
    judges,
    consensus,
    min_judges_required,
    // Both limit the confidence of the consensus, which measures agreement.
    min_confidence: Math.max(min_confidence, min_agreement_confidence),
  };
}

/** Isolation and runtimes that the node which receives a start offers to executions. */
export interface NodeOffer {
  /** The isolation that `inherit` stands for on this node. */
  readonly isolation: AgentManifest['spec']['runtime']['isolation'];
  /** Languages and versions that agents may use. Default: the table of the product. */
  readonly runtimes?: RuntimeTable;
  /** Called at each start with a deprecated runtime. */
  readonly onDeprecated?: (start: Pick<StartExecution, 'agentId' | 'executionId'>, runtime: Runtime) => void;
}

/**
 * The manifest with the node's choices filled in. Throws `unsupported_runtime`, with the known ones, for a language or version
 * that the node's table lacks (W41).
 */
export function fitToNode(
  start: StartExecution,
  { isolation, runtimes = shippedRuntimes(), onDeprecated }: NodeOffer,
): AgentManifest {
  const { manifest } = start;
  const found = findRuntime(runtimes, manifest.spec.runtime);
  if (!found.ok) throw new SvcError('unsupported_runtime', found.message, { field: 'spec.runtime.version' });
  if (found.runtime?.deprecated === true) onDeprecated?.(start, found.runtime);
  if (manifest.spec.runtime.isolation !== 'inherit') return manifest;
  return { ...manifest, spec: { ...manifest.spec, runtime: { ...manifest.spec.runtime, isolation } } };
}
