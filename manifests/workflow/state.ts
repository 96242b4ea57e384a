import { z } from 'zod';
import { bytes, duration } from '../duration.ts';
import { refuse } from '../expectation.ts';
import {
  absolutePath,
  besideProblems,
  keyName,
  refuseRepeatedNames,
  scalarText,
  stepFiles,
  systemEnv,
  template,
  templatedMap,
} from './fields.ts';
import { panelFields, Transition } from './transition.ts';

const HOUR_MS = 3_600_000;

const runTimeout = duration({ minMs: 1, maxMs: 365 * 24 * HOUR_MS, text: 'at most 365d' });

const VolumeMount = z.strictObject({
  /** `workspace`, or the name of a shared volume of the workflow. */
  name: z.string().min(1).max(128),
  mount_path: absolutePath,
  read_only: z.boolean().default(false),
});

const Resources = z
  .strictObject({
    /** Millicores. */
    cpu: z.number().int().min(1).max(1_024_000).optional(),
    memory: bytes({ min: 1, max: 64 * 1_024 ** 4, text: 'at most 64Ti' }).optional(),
    timeout: runTimeout.prefault('5m'),
  })
  .transform(({ cpu, memory, timeout }) => ({
    ...(cpu === undefined ? {} : { cpu_millicores: cpu }),
    ...(memory === undefined ? {} : { memory_bytes: memory }),
    timeout_ms: timeout,
  }));

/** `none`: the state works without the files of the run. Absent: the run's workspace is at /workspace. */
const workspace = z.enum(['shared', 'none']).optional();

/** The common part of ContainerRun and a step of ParallelContainerRun (W12). */
const containerFields = {
  image: z.string().min(1).max(1_024),
  image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /** Each element is a template. */
  command: z.array(template).min(1).max(256),
  /** Elements joined by spaces and run by `sh -c`. */
  shell: z.boolean().default(false),
  env: templatedMap,
  workdir: template.default('/workspace'),
  workspace,
  files: stepFiles,
  volumes: z.array(VolumeMount).max(50).default([]),
  resources: Resources.prefault({}),
  /** Path in the secret store; not visible to the container. */
  registry_credentials: z.string().min(1).max(500).optional(),
};

/** Files are written into the workspace. */
function refuseFilesWithout(
  { workspace: shared, files }: { readonly workspace?: string | undefined; readonly files?: object | undefined },
  context: z.RefinementCtx,
): void {
  if (shared === 'none' && files !== undefined)
    refuse(context, ['files'], 'not with workspace: none, they are written there');
}

export const ContainerStep = z
  .strictObject({ name: keyName(128), ...containerFields })
  .superRefine(refuseFilesWithout, besideProblems);

export type ContainerStep = z.output<typeof ContainerStep>;

const Retry = z
  .strictObject({
    /** Attempts in total, including the first. */
    max_attempts: z.number().int().min(1).max(100).default(1),
    backoff: duration({ minMs: 0, maxMs: 24 * HOUR_MS, text: 'at most 24h' }).prefault('0s'),
  })
  .transform(({ max_attempts, backoff }) => ({ max_attempts, backoff_ms: backoff }));

const DAY_MS = 86_400_000;

const timeout = duration({ minMs: 1, maxMs: 365 * DAY_MS, text: 'at most 365d' });

const AgentMount = z.strictObject({
  volume: template.min(1),
  mount_path: absolutePath,
  access_mode: z.enum(['read-write', 'read-only']),
});

const transitions = z.array(Transition).max(100);

/** A field of every state, used in Agent states only; in others it has no effect. */
const agentMounts = z.array(AgentMount).max(50);

const timed = { timeout: timeout.prefault('300s'), transitions };

const AgentStep = z.strictObject({
  kind: z.literal('Agent'),
  ...timed,
  volumes: agentMounts.default([]),
  workspace,
  agent: template.min(1),
  input: template.optional(),
  isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
});

/** Commands of System states that run without a shell (W8). */
const BUILT_IN_COMMANDS = ['update_context', 'update_blackboard', 'finalize', 'fail'] as const;

export type BuiltInCommand = (typeof BUILT_IN_COMMANDS)[number];

/** The built-in that a command names, by its unrendered text, so that rendered text cannot become one. */
export const builtInNamed = (command: string): BuiltInCommand | undefined =>
  BUILT_IN_COMMANDS.find((name) => name === command.trim());

const SystemStep = z
  .strictObject({
    kind: z.literal('System'),
    ...timed,
    volumes: agentMounts.optional(),
    command: template.min(1),
    env: systemEnv,
    workdir: template.default('/workspace'),
    workspace,
    files: stepFiles,
  })
  .superRefine(({ command, env }, context) => {
    if (typeof command !== 'string' || builtInNamed(command) !== undefined) return;
    for (const [key, value] of Object.entries(env ?? {}))
      if (typeof value === 'object') refuse(context, ['env', key], 'expected text; put it in quotes');
  }, besideProblems);

/** For a shell command, numbers and booleans become the texts that were written. */
function withTexts({ env, command, ...step }: z.output<typeof SystemStep>) {
  if (builtInNamed(command) !== undefined) return { ...step, command, env };
  return { ...step, command, env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)])) };
}

const HumanStep = z.strictObject({
  kind: z.literal('Human'),
  /** Absent: no time-out. */
  timeout: timeout.optional(),
  transitions,
  volumes: agentMounts.optional(),
  prompt: template.min(1),
  default_response: scalarText(4_096).optional(),
});

const PanelStep = z.strictObject({
  kind: z.literal('ParallelAgents'),
  ...timed,
  volumes: agentMounts.optional(),
  ...panelFields,
});

const ContainerRunStep = z
  .strictObject({
    kind: z.literal('ContainerRun'),
    ...timed,
    name: z.string().max(256).optional(),
    ...containerFields,
    retry: Retry.prefault({}),
  })
  .superRefine(refuseFilesWithout, besideProblems);

const ParallelContainerRunStep = z.strictObject({
  kind: z.literal('ParallelContainerRun'),
  ...timed,
  volumes: agentMounts.optional(),
  steps: z.array(ContainerStep).min(1).max(64).superRefine(refuseRepeatedNames, besideProblems),
  completion: z.enum(['all_succeed', 'any_succeed', 'best_effort']).default('all_succeed'),
});

const SubworkflowStep = z.strictObject({
  kind: z.literal('Subworkflow'),
  ...timed,
  volumes: agentMounts.optional(),
  workflow_id: template.min(1),
  mode: z.enum(['blocking', 'fire_and_forget']).default('blocking'),
  result_key: keyName(128).optional(),
  input: template.optional(),
});

const inMs = <T extends { timeout?: number | undefined }>({ timeout, ...rest }: T) => ({
  ...rest,
  timeout_ms: timeout ?? null,
});

/** `spec.states[NAME]` (W6): seven kinds; durations are parsed to `…_ms`. `timeout_ms` null: no limit. */
const WorkflowStep = z.discriminatedUnion('kind', [
  AgentStep,
  SystemStep,
  HumanStep,
  PanelStep,
  ContainerRunStep,
  ParallelContainerRunStep,
  SubworkflowStep,
]);

export const NormalStep = WorkflowStep.transform((step) => {
  switch (step.kind) {
    case 'Agent':
      return inMs(step);
    case 'System':
      return inMs(withTexts(step));
    case 'Human':
      return inMs(step);
    case 'ParallelAgents':
      return inMs(step);
    case 'ContainerRun':
      return inMs(step);
    case 'ParallelContainerRun':
      return inMs(step);
    case 'Subworkflow':
      return inMs(step);
  }
});

export type StateSpec = z.output<typeof NormalStep>;

export type StateKind = StateSpec['kind'];

export type StateOf<Kind extends StateKind> = Extract<StateSpec, { kind: Kind }>;
