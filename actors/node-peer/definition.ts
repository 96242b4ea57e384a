import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import { fleet, fleetRotation } from '../fleet/definition.ts';
import { fleetConfig } from '../fleet/roster.ts';
import { nodeChallengeActor } from '../node-challenge/definition.ts';
import { nodePeerEvents } from './events.ts';
import {
  Admit,
  Deregister,
  Drain,
  HeartbeatsMissed,
  heartbeat,
  heartbeatOverdue,
  LeftLongAgo,
  Remove,
  register,
  Shutdown,
  SyncConfig,
} from './handlers.ts';
import { nodePeerMessages } from './messages.ts';
import { NodePeerState } from './state.ts';

/** Spec 1, Limits. */
export const HEARTBEAT_INTERVAL_MS = 30_000;

/**
 * One node as the controllers know it (design P3; decided.md "Nodes"). Two intervals without a heartbeat: no new work;
 * three: UNHEALTHY, until the next heartbeat.
 */
export const nodePeerActor = ({
  heartbeatIntervalMs = HEARTBEAT_INTERVAL_MS,
}: {
  readonly heartbeatIntervalMs?: number;
} = {}) =>
  defineActor({
    kind: 'node-peer',
    version: 1,
    pool: 'system',
    state: NodePeerState,
    initial: () => ({ peer: null, revision: 0, forgotten: false }),
    messages: nodePeerMessages,
    events: nodePeerEvents,
    creates: ['Register'],
    on: {
      Register: register(heartbeatIntervalMs),
      Admit,
      Heartbeat: heartbeat(heartbeatIntervalMs),
      Deregister,
      Drain,
      Shutdown,
      Remove,
      SyncConfig,
      HeartbeatOverdue: heartbeatOverdue(heartbeatIntervalMs),
      HeartbeatsMissed,
      LeftLongAgo,
    },
    done: ({ forgotten }) => forgotten,
    keepsArchive: false,
  });

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
