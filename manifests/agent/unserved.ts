import { didYouMean } from '../nearest.ts';
import type { Problem, YamlText } from '../schema-problems.ts';
import { pathText } from '../schema-problems.ts';
import type { Finding } from '../workflow/finding.ts';
import type { AgentManifest, Validator } from './schema.ts';
import { ignoredOfVolumes, volumeFaults } from './volumes.ts';
import { EXPECTED_FILE, workspaceFile } from './workspace-checks.ts';

type Path = readonly PropertyKey[];

/** Faults for which every start of the agent would be refused, so that its deployment is refused. */
export function neverStarts(
  { spec }: AgentManifest,
  { locate }: Pick<YamlText, 'locate'>,
  maxSizeLimitMb?: number,
): Problem[] {
  return [...unreadableContext(spec), ...foreignFiles(spec), ...volumeFaults(spec.volumes, maxSizeLimitMb)].map(
    ({ path, message }) => ({
      path: pathText(path),
      ...locate(path),
      message,
    }),
  );
}

/** Entries of `spec.context` that the manifest's own rules forbid to read. */
function unreadableContext({
  context,
  security: { network },
}: AgentManifest['spec']): { readonly path: Path; readonly message: string }[] {
  const noHost = network.mode !== 'allow' && network.allowlist.length === 0;
  return context.flatMap((entry, index) => {
    const at = ['spec', 'context', index];
    if (entry.type === 'url' && noHost) {
      const message =
        'spec.security.network allows no host, so no execution could read it: add its host to the allowlist';
      return [{ path: [...at, 'url'], message }];
    }
    if ((entry.type === 'file' || entry.type === 'directory') && entry.path.split('/').includes('..')) {
      return [{ path: [...at, 'path'], message: 'expected a path without ".." in it' }];
    }
    return [];
  });
}

/** Files and scripts of validators that cannot be in the workspace of any execution. */
function foreignFiles({
  execution,
  runtime,
}: AgentManifest['spec']): { readonly path: Path; readonly message: string }[] {
  const inImage = runtime.isolation === 'docker';
  return execution.validation.flatMap((validator, index) => {
    const at = ['spec', 'execution', 'validation'];
    if (validator.type === 'script') {
      // Only the object form has this field, under its own name.
      if (workspaceFile(validator.path, { inImage }) !== null) return [];
      return [{ path: [...at, 'script', 'path'], message: EXPECTED_FILE }];
    }
    return filesOf(validator)
      .filter(({ path }) => workspaceFile(path) === null)
      .map(({ field }) => ({ path: [...at, index, field], message: EXPECTED_FILE }));
  });
}

/** The files that a validator reads. */
function filesOf(validator: Validator): { readonly field: string; readonly path: string }[] {
  if (validator.type === 'regex') {
    const { target } = validator;
    return target === 'stdout' || target === 'stderr' ? [] : [{ field: 'target', path: target }];
  }
  if (validator.type !== 'json_schema') return [];
  return (['schema_path', 'target_path'] as const).flatMap((field) => {
    const path = validator[field];
    return path === undefined ? [] : [{ field, path }];
  });
}

interface Ignored {
  readonly path: Path;
  readonly isSet: boolean;
  readonly message: string;
  readonly cure: string;
}

const SOON = 'Remove it; it is accepted because manifests of other versions have it.';

/** Warns of fields that are accepted but have no effect, or less than they promise. Never refuses a deployment. */
export function ignoredFields({ spec }: AgentManifest, { locate }: Pick<YamlText, 'locate'>): Finding[] {
  return ignored(spec)
    .filter(({ isSet }) => isSet)
    .map(({ path, message, cure }) => ({
      rule: 'ignored_field',
      severity: 'warning',
      path: pathText(path),
      ...locate(path),
      message,
      cure,
    }));
}

function ignored({ schedule, delivery, advanced, volumes, runtime, security }: AgentManifest['spec']): Ignored[] {
  const { network, filesystem } = security;
  const hasProgram = advanced.bootstrap_path !== undefined;
  return [
    {
      path: ['spec', 'schedule'],
      isSet: schedule !== undefined && schedule.type !== 'manual',
      message: 'schedules are not served by this version: no schedule starts this agent',
      cure: 'Start it from a scheduler of your own, by `svc run`, REST or a stimulus.',
    },
    {
      path: ['spec', 'delivery', 'destinations'],
      isSet: delivery.destinations.length > 0,
      message: 'deliveries are not served by this version: nothing is sent when an execution ends',
      cure: 'Follow the stream of the execution, or let a workflow send its result.',
    },
    {
      path: ['spec', 'advanced', 'startup_script'],
      isSet: advanced.startup_script !== undefined,
      message: 'startup scripts are not served by this version: it is never run',
      cure: 'Put what it does into the image, or into the program of bootstrap_path.',
    },
    {
      path: ['spec', 'advanced', 'warm_pool_size'],
      isSet: advanced.warm_pool_size > 0,
      message: 'warm pools are not served by this version: each execution starts its own container',
      cure: SOON,
    },
    {
      path: ['spec', 'advanced', 'health_check'],
      isSet: advanced.health_check !== undefined,
      message: 'health checks of agents are not served by this version',
      cure: SOON,
    },
    ...ignoredOfVolumes(volumes).map(({ path, message }) => ({ path, message, isSet: true, cure: 'Remove it.' })),
    {
      path: ['spec', 'runtime', 'isolation'],
      isSet: runtime.isolation === 'firecracker',
      message: 'no node of this version can run isolation firecracker: every start is refused',
      cure: 'Use docker, or process.',
    },
    {
      path: ['spec', 'security', 'network', 'allowlist'],
      isSet: hasProgram && network.mode === 'allow' && network.allowlist.length > 0,
      message: 'the list of domains binds the tools of the agent; its own program gets no network at all',
      cure: 'Let the program call web.fetch by the dispatch gateway.',
    },
    {
      path: ['spec', 'security', 'filesystem'],
      isSet: hasProgram && (filesystem.read.length > 0 || filesystem.write.length > 0),
      message: 'the rules bind the tools of the agent; its own program sees all of its workspace',
      cure: 'Rely on the sandbox or the container: other files are not in it.',
    },
  ];
}

const TAG = /^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,56}$/;

/** Warns of a model that no node has. `aliases`: those that nodes have; empty: unknown. */
export function unknownModel(
  { spec: { runtime } }: AgentManifest,
  aliases: readonly string[],
  { locate }: Pick<YamlText, 'locate'>,
): Finding[] {
  // Nodes announce only aliases that are valid tags, so other aliases cannot be checked.
  if (aliases.length === 0 || aliases.includes(runtime.model) || !TAG.test(runtime.model)) return [];
  const path = ['spec', 'runtime', 'model'];
  return [
    {
      rule: 'unknown_model',
      severity: 'warning',
      path: pathText(path),
      ...locate(path),
      message: `no node has a model with the alias ${JSON.stringify(runtime.model)}${didYouMean(runtime.model, aliases)}`,
      cure: `Use one of ${aliases.slice(0, 20).join(', ')}, or add it to spec.llm_providers of a node.`,
    },
  ];
}
