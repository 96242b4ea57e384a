import type { Json, JsonObject } from '../../../runtime/json.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, single } from './driven-workflow.ts';

/** One state of each kind. */
export const AGENT: JsonObject = { kind: 'Agent', agent: 'writer', input: 'Write for {{input.who}}.' };
export const SYSTEM: JsonObject = {
  kind: 'System',
  command: 'make {{input.who}}',
  env: { WHO: '{{input.who}}' },
  timeout: '2m',
};
export const HUMAN: JsonObject = { kind: 'Human', prompt: 'Release for {{input.who}}?' };
export const PANEL: JsonObject = {
  kind: 'ParallelAgents',
  agents: [
    { agent: 'strict', input: '{{input.who}}', weight: 2 },
    { agent: 'kind', timeout_seconds: 5 },
  ],
  consensus: { strategy: 'weighted_average' },
};
export const CONTAINER: JsonObject = {
  kind: 'ContainerRun',
  image: 'alpine:{{input.who}}',
  command: ['echo', '{{input.who}}'],
};
export const CONTAINERS: JsonObject = {
  kind: 'ParallelContainerRun',
  steps: ['lint', 'test', 'scan'].map((name) => ({ name, image: 'alpine', command: ['true'] })),
};
export const CHILD: JsonObject = { kind: 'Subworkflow', workflow_id: 'child', input: '{"n": 1}' };
export const DETACHED: JsonObject = { ...CHILD, mode: 'fire_and_forget' };

export const KINDS: Readonly<Record<string, JsonObject>> = {
  AGENT,
  SYSTEM,
  HUMAN,
  PANEL,
  CONTAINER,
  CONTAINERS,
  CHILD,
  DETACHED,
};

/** A run that has entered a state STEP of this kind. */
export function begun(state: JsonObject, extra: Parameters<typeof single>[1] = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(single(state, extra));
  return run;
}

/** What the blackboard has of STEP. */
export const record = (run: DrivenWorkflow): JsonObject => toJson(run.blackboard.STEP);
export const errorCode = (run: DrivenWorkflow): Json | undefined => toJson(record(run).error).code;
