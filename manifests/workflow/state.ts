import { z } from 'zod';
import { duration } from '../duration.ts';
import { ContainerStep, containerFields, Retry } from './containers.ts';
import {
  absolutePath,
  besideProblems,
  keyName,
  refuseRepeatedNames,
  scalarText,
  template,
  templatedMap,
} from './fields.ts';
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
/** A field of every state, read for Agent states only; elsewhere it is legal and does nothing. */
const agentMounts = z.array(AgentMount).max(50);
const timed = { timeout: timeout.prefault('300s'), transitions };

const AgentStep = z.strictObject({
  kind: z.literal('Agent'),
  ...timed,
  volumes: agentMounts.default([]),
  agent: template.min(1),
  input: template.optional(),
  isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
});

const SystemStep = z.strictObject({
  kind: z.literal('System'),
  ...timed,
  volumes: agentMounts.optional(),
  command: template.min(1),
  env: templatedMap,
  workdir: template.default('/workspace'),
});

const HumanStep = z.strictObject({
  kind: z.literal('Human'),
  /** Absent: waits without end. */
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

/** `spec.states[NAME]` (spec 3, State): seven kinds; durations come out as `…_ms`. `timeout_ms` null: no limit. */
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
