import { z } from 'zod';
import { duration } from '../duration.ts';
import { ContainerStep, containerFields, Retry } from './containers.ts';
import { absolutePath, template, templatedMap } from './fields.ts';
import { panelFields } from './panel.ts';
import { Transition } from './transition.ts';

const DAY_MS = 86_400_000;
const timeout = duration({ minMs: 1, maxMs: 365 * DAY_MS, text: 'at most 365d' });

const AgentMount = z.strictObject({
  volume: template.min(1),
  mount_path: absolutePath,
  access_mode: z.enum(['read-write', 'read-only']),
});

const transitions = z.array(Transition).max(100);
const timed = { timeout: timeout.prefault('300s'), transitions };

const AgentStep = z.strictObject({
  kind: z.literal('Agent'),
  ...timed,
  volumes: z.array(AgentMount).max(50).default([]),
  agent: template.min(1),
  input: template.optional(),
  isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
});

const SystemStep = z.strictObject({
  kind: z.literal('System'),
  ...timed,
  command: template.min(1),
  env: templatedMap,
  workdir: template.default('/workspace'),
});

const HumanStep = z.strictObject({
  kind: z.literal('Human'),
  /** Absent: waits without end. */
  timeout: timeout.optional(),
  transitions,
  prompt: template.min(1),
  default_response: z.string().max(4_096).optional(),
});

const PanelStep = z.strictObject({ kind: z.literal('ParallelAgents'), ...timed, ...panelFields });

const ContainerRunStep = z.strictObject({
  kind: z.literal('ContainerRun'),
  ...timed,
  name: z.string().max(256).optional(),
  ...containerFields,
  retry: Retry.prefault({}),
});

const ParallelContainerRunStep = z.strictObject({
  kind: z.literal('ParallelContainerRun'),
  ...timed,
  steps: z
    .array(ContainerStep)
    .min(1)
    .max(64)
    .superRefine((steps, context) => {
      const names = new Set<string>();
      steps.forEach(({ name }, index) => {
        if (names.has(name))
          context.addIssue({ code: 'custom', path: [index, 'name'], message: 'expected a unique name' });
        names.add(name);
      });
    }),
  completion: z.enum(['all_succeed', 'any_succeed', 'best_effort']).default('all_succeed'),
});

const SubworkflowStep = z.strictObject({
  kind: z.literal('Subworkflow'),
  ...timed,
  workflow_id: template.min(1),
  mode: z.enum(['blocking', 'fire_and_forget']).default('blocking'),
  result_key: z.string().min(1).max(128).optional(),
  input: template.optional(),
});

const inMs = <T extends { timeout?: number | undefined }>({ timeout, ...rest }: T) => ({
  ...rest,
  timeout_ms: timeout ?? null,
});

/** `spec.states[NAME]` (spec 3, State): seven kinds; durations come out as `…_ms`. `timeout_ms` null: no limit. */
export const WorkflowStep = z.discriminatedUnion('kind', [
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
      return inMs(step);
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
