import { defineActor } from '../../runtime/define-actor.ts';
import { nodePeerEvents } from './events.ts';
import { Drain, Shutdown, SyncConfig } from './handlers/command.ts';
import { HeartbeatsMissed, heartbeat, heartbeatOverdue } from './handlers/heartbeat.ts';
import { Deregister, LeftLongAgo, Remove } from './handlers/leave.ts';
import { Admit, register } from './handlers/register.ts';
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
