import type { NodeCommand } from '../api.ts';
import { changed } from '../change.ts';
import { queued } from '../commands.ts';
import type { NodePeerTurn } from '../messages.ts';
import type { NodePeerState, Peer } from '../state.ts';

/** An operator's drain: no new work from now on, whatever heartbeats say. */
export function Drain(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  const peer = withCommand(registered(state, turn), { command: 'drain' }, turn);
  const status = peer.status === 'UNHEALTHY' ? 'UNHEALTHY' : 'DRAINING';
  const { state: next, word } = changed(state, { ...peer, drained: true, status }, 'drained_by_operator', turn);
  turn.reply({ word });
  return next;
}

export function Shutdown(
  state: NodePeerState,
  { reason }: { readonly reason: string },
  turn: NodePeerTurn,
): NodePeerState {
  return { ...state, peer: withCommand(registered(state, turn), { command: 'shutdown', reason }, turn) };
}

/** A node that has left meanwhile needs no configuration. */
export function SyncConfig(
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

export const registered = (state: NodePeerState, turn: NodePeerTurn): Peer =>
  state.peer ?? turn.refuse('not_found', 'no such node is registered');
