import type { z } from 'zod';
import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import { fleet, fleetRotation } from '../fleet/definition.ts';
import { FLEET, fleetConfig, type RosterEntry, type RosterUpdate } from '../fleet/roster.ts';
import { nodeChallengeActor } from '../node-challenge/definition.ts';
import { type NodeCommand, queued } from './commands.ts';
import { nodePeerEvents } from './events.ts';
import {
  type Heartbeat as HeartbeatMessage,
  type NodePeerTurn,
  nodePeerMessages,
  type Register as RegisterMessage,
} from './messages.ts';
import { NodePeerState, nodeIdOf, type Peer } from './state.ts';

/** Default interval of heartbeats (G17). */
export const HEARTBEAT_INTERVAL_MS = 30_000;

/**
 * One node as the controllers see it (P3, G22). After two intervals without a heartbeat it gets no new work; after three it is
 * UNHEALTHY until the next heartbeat.
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

/** All kinds behind `NodePeerApi`. Every node that owns partitions of pool `system` serves them. */
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

const IDLE = { active_execution_count: 0, cpu_utilization_percent: 0, memory_utilization_percent: 0 };

/** Upsert (G24): the peer id stays, the capabilities are replaced, the node is ACTIVE. */
const register =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, message: z.output<typeof RegisterMessage>, turn: NodePeerTurn): NodePeerState => {
    const { peer: known } = state;
    if (known !== null && known.public_key_pem !== message.public_key_pem) return refuseKey(turn);
    // A drain that the node has not received still applies; one that it received ended with its previous run.
    const drained = known?.commands.some(({ command }) => command === 'drain') ?? false;
    const peer: Peer = {
      ...message,
      peer_id: known?.peer_id ?? turn.newId(),
      status: drained ? 'DRAINING' : 'ACTIVE',
      drained,
      overdue: false,
      last_heartbeat_at: known?.last_heartbeat_at ?? '',
      load: IDLE,
      commands: known?.commands ?? [],
    };
    const { peer_id, role, capabilities, grpc_address } = peer;
    if (known === null || !sameAdvertisement(known, peer)) {
      turn.emit('peer_registered', { peer_id, role, capabilities, grpc_address });
    }
    turn.clear('left');
    listen(turn, heartbeatIntervalMs);
    const { state: next, update } = changed(state, peer, 'registered', turn);
    turn.reply({ peer_id, word: update });
    return next;
  };

/** Whether this key may attest for the node's id (G19). Any key may while the node is not registered. */
function Admit(
  state: NodePeerState,
  { public_key_pem }: { readonly public_key_pem: string },
  turn: NodePeerTurn,
): NodePeerState {
  if (state.peer !== null && state.peer.public_key_pem !== public_key_pem) return refuseKey(turn);
  return state;
}

const refuseKey = (turn: NodePeerTurn): never =>
  turn.refuse('forbidden', 'the node id is registered with another key: deregister or remove it first');

const sameAdvertisement = (a: Peer, b: Peer): boolean =>
  JSON.stringify([a.role, a.capabilities, a.grpc_address]) === JSON.stringify([b.role, b.capabilities, b.grpc_address]);

/**
 * Stores load, time and status (G22), and returns the queued commands: the turn that returns them removes them from the queue,
 * so each is delivered once.
 */
const heartbeat =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, message: z.output<typeof HeartbeatMessage>, turn: NodePeerTurn): NodePeerState => {
    const { peer } = state;
    if (peer === null) return turn.refuse('failed_precondition', 'the node is not registered: register first');
    const { peer_id, status, ...load } = message;
    if (peer_id !== peer.peer_id) return turn.refuse('forbidden', 'peer_id: expected the one of this node');
    for (const command of peer.commands) turn.emit('command_delivered', { command });
    const beaten: Peer = {
      ...peer,
      load,
      status: peer.drained && status === 'ACTIVE' ? 'DRAINING' : status,
      overdue: false,
      last_heartbeat_at: new Date(turn.now).toISOString(),
      commands: [],
    };
    listen(turn, heartbeatIntervalMs);
    const { state: next, update } = changed(state, beaten, 'heartbeat', turn);
    turn.reply({ commands: peer.commands, word: update });
    return next;
  };

/** Two intervals without a heartbeat: no new work. A third makes it UNHEALTHY. */
const heartbeatOverdue =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState => {
    if (state.peer === null) return state;
    turn.after('silence', heartbeatIntervalMs, 'HeartbeatsMissed', {});
    return changed(state, { ...state.peer, overdue: true }, 'heartbeat', turn).state;
  };

function HeartbeatsMissed(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  if (state.peer === null) return state;
  return changed(state, { ...state.peer, status: 'UNHEALTHY' }, 'heartbeats_missed', turn).state;
}

/** An operator's drain: no new work from now on, regardless of later heartbeats. */
function Drain(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  const peer = withCommand(registered(state, turn), { command: 'drain' }, turn);
  const status = peer.status === 'UNHEALTHY' ? 'UNHEALTHY' : 'DRAINING';
  const { state: next, update } = changed(state, { ...peer, drained: true, status }, 'drained_by_operator', turn);
  turn.reply({ word: update });
  return next;
}

function Shutdown(state: NodePeerState, { reason }: { readonly reason: string }, turn: NodePeerTurn): NodePeerState {
  return { ...state, peer: withCommand(registered(state, turn), { command: 'shutdown', reason }, turn) };
}

/** A node that has left needs no configuration. */
function SyncConfig(
  state: NodePeerState,
  { config_version }: { readonly config_version: string },
  turn: NodePeerTurn,
): NodePeerState {
  if (state.peer === null) return state;
  return { ...state, peer: withCommand(state.peer, { command: 'sync_config', config_version }, turn) };
}

function withCommand(peer: Peer, command: NodeCommand, turn: NodePeerTurn): Peer {
  turn.emit('command_queued', { command, by: turn.identity?.subject ?? '' });
  return { ...peer, commands: queued(peer.commands, command) };
}

const registered = (state: NodePeerState, turn: NodePeerTurn): Peer =>
  state.peer ?? turn.refuse('not_found', 'no such node is registered');

/** How long a node that left keeps its revision: longer than any update to the fleet can be in transit. */
const FORGET_AFTER_MS = 3_600_000;

/** The node leaves. If it is not registered, or with another key, the answer is "not accepted", which is no error (G27). */
function Deregister(
  state: NodePeerState,
  { reason, public_key_pem }: { readonly reason: string; readonly public_key_pem?: string | undefined },
  turn: NodePeerTurn,
): NodePeerState {
  const { peer } = state;
  if (peer === null || (public_key_pem !== undefined && public_key_pem !== peer.public_key_pem)) {
    turn.reply({ accepted: false, word: null });
    return state;
  }
  return leave(state, { peer_id: peer.peer_id, reason, by: '' }, turn);
}

/** An operator removes it: its key is forgotten too, so another one may attest for the id. */
function Remove(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  const { peer_id } = registered(state, turn);
  return leave(state, { peer_id, reason: 'removed by an operator', by: turn.identity?.subject ?? '' }, turn);
}

function leave(
  state: NodePeerState,
  event: { readonly peer_id: string; readonly reason: string; readonly by: string },
  turn: NodePeerTurn,
): NodePeerState {
  turn.emit('peer_deregistered', event);
  turn.clear('silence');
  turn.after('left', FORGET_AFTER_MS, 'LeftLongAgo', {});
  const { state: next, update } = changed(state, null, 'registered', turn);
  turn.reply({ accepted: true, word: update });
  return next;
}

function LeftLongAgo(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  if (state.peer !== null) return state;
  turn.tell(FLEET, 'Forget', { node_id: nodeIdOf(turn.self), revision: state.revision });
  return { ...state, forgotten: true };
}

type StatusReason = 'registered' | 'heartbeat' | 'heartbeats_missed' | 'drained_by_operator';

interface Changed {
  readonly state: NodePeerState;
  /**
   * The update that was sent to the fleet; null when none of the data that it stores has changed. The API sends it again before
   * it answers.
   */
  readonly update: RosterUpdate | null;
}

/** The state with `peer`; sends the change to the fleet and emits its events. */
function changed(state: NodePeerState, peer: Peer | null, reason: StatusReason, turn: NodePeerTurn): Changed {
  const { peer: before } = state;
  if (before !== null && peer !== null && before.status !== peer.status) {
    turn.emit('peer_status_changed', { from: before.status, to: peer.status, reason });
  }
  const entry = entryOf(peer);
  if (JSON.stringify(entry) === JSON.stringify(entryOf(before))) return { state: { ...state, peer }, update: null };
  const revision = state.revision + 1;
  const update: RosterUpdate = { node_id: nodeIdOf(turn.self), revision, entry };
  turn.tell(FLEET, 'Hear', update);
  return { state: { ...state, peer, revision }, update };
}

function entryOf(peer: Peer | null): RosterEntry | null {
  if (peer === null) return null;
  const { role, status, overdue, capabilities, grpc_address } = peer;
  return { role, status, overdue, capabilities, grpc_address };
}

/** Restarts the timers that detect missing heartbeats. */
function listen(turn: NodePeerTurn, heartbeatIntervalMs: number): void {
  turn.after('silence', 2 * heartbeatIntervalMs, 'HeartbeatOverdue', {});
}
