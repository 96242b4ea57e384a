import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { fleetConfig } from '../fleet/config.ts';
import { fleet } from '../fleet/definition.ts';
import { fleetRotation } from '../fleet/rotation.ts';
import { nodeChallengeActor } from '../node-challenge/definition.ts';
import { nodePeerActor } from './definition.ts';

/** All kinds that `NodePeerApi` speaks to. Every node that holds partitions of pool `system` serves them. */
export const nodeActors = (
  options: { readonly heartbeatIntervalMs?: number; readonly challengeTtlMs?: number } = {},
): readonly ActorDefinition[] => {
  const { heartbeatIntervalMs, challengeTtlMs } = options;
  return [
    nodePeerActor(heartbeatIntervalMs === undefined ? {} : { heartbeatIntervalMs }),
    nodeChallengeActor(challengeTtlMs === undefined ? {} : { ttlMs: challengeTtlMs }),
    fleet,
    fleetRotation,
    fleetConfig,
  ];
};
