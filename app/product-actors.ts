import { z } from 'zod';
import { approvalActor } from '../actors/approval/definition.ts';
import { executionActor } from '../actors/execution/definition.ts';
import { judgePanel } from '../actors/judge-panel/definition.ts';
import { nodeActors } from '../actors/node-peer/definition.ts';
import { stimulusActor } from '../actors/stimulus/definition.ts';
import { toolSessionActor } from '../actors/tool-session/definition.ts';
import { workflowActor } from '../actors/workflow/definition.ts';
import { BuiltinDispatchers } from '../manifests/node/tools.ts';
import type { ToolPolicy } from '../manifests/tool/decision.ts';
import type { ActorDefinition } from '../runtime/define-actor.ts';
import { type JsonObject, plainObject } from '../runtime/json.ts';
import { commandCeilings } from '../security/policy/matching.ts';
import { createToolPolicy } from '../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../tools/contracts.ts';

/** The settings of a node that decide in turns of actors. Recordings keep them, so that a replay decides the same. */
export const TurnSettings = z.object({
  builtin_dispatchers: BuiltinDispatchers,
  workflow: z.object({ max_transitions: z.number().int().positive().default(1_000) }).prefault({}),
  cluster: z.object({ heartbeat_interval_secs: z.number().positive().default(30) }).prefault({}),
});
export type TurnSettings = z.output<typeof TurnSettings>;

/** These settings as recordings keep them: without secrets. */
export function recordedSettings({ builtin_dispatchers, workflow, cluster }: TurnSettings): JsonObject {
  return plainObject({
    builtin_dispatchers: builtin_dispatchers.map((one) => ({ ...one, api_key: undefined })),
    workflow: { max_transitions: workflow.max_transitions },
    cluster: { heartbeat_interval_secs: cluster.heartbeat_interval_secs },
  });
}

/**
 * Decides about tool calls in turns of actors. It is the same on every node of one version; differences between nodes are in
 * the grants.
 */
export const toolPolicy = (settings: Pick<TurnSettings, 'builtin_dispatchers'>): ToolPolicy =>
  createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings(settings.builtin_dispatchers) });

export const workflowActors = ({ workflow }: Pick<TurnSettings, 'workflow'>): readonly ActorDefinition[] => [
  workflowActor({ maxTransitions: workflow.max_transitions }),
  judgePanel,
  approvalActor,
  stimulusActor,
];

/** All kinds of actors of the product. */
export function productActors(settings: TurnSettings): readonly ActorDefinition[] {
  const policy = toolPolicy(settings);
  return [
    executionActor({ policy }),
    toolSessionActor({ policy }),
    ...workflowActors(settings),
    ...nodeActors({ heartbeatIntervalMs: settings.cluster.heartbeat_interval_secs * 1_000 }),
  ];
}
