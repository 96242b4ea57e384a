import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';
import { Requirement } from '../node-peer/capabilities.ts';
import { peerAddress } from '../node-peer/state.ts';
import { type FleetState, MOST_NODES, nodeIds, RosterWord, FleetState as State } from './roster.ts';
import { route } from './route.ts';

/**
 * Who is in the fleet and who gets the next execution (design P4). It changes when a node joins, leaves or changes its
 * status, never with a heartbeat or a route: its record is as large as the fleet, and small changes are kept elsewhere.
 */
export const fleet = defineActor({
  kind: 'fleet',
  version: 1,
  pool: 'system',
  state: State,
  initial: () => ({ rows: {}, config_hash: '' }),
  messages: {
    /** From a node peer, and from the api once more before it answers: idempotent. */
    Hear: RosterWord,
    /** A node left long ago and its count of words begins anew. */
    Forget: z.object({ node_id: z.string(), revision: z.number().int() }),
    Route: z.object({ required: Requirement, number: z.number().int().min(0) }),
    ConfigChanged: z.object({ config_hash: z.string().length(64) }),
  },
  events: {},
  on: {
    Hear(state, { node_id, revision, entry }, turn) {
      const known = rowOf(state, node_id);
      if (known !== undefined && known.revision >= revision) return state;
      const joins = entry !== null && (known === undefined || known.entry === null);
      if (joins && nodeIds(state).length >= MOST_NODES) {
        return turn.refuse('failed_precondition', `the fleet has ${MOST_NODES} nodes, which is the most`);
      }
      // It may have fetched the configuration just before it changed.
      if (joins && state.config_hash !== '') {
        turn.tell(peerAddress(node_id), 'SyncConfig', { config_version: state.config_hash });
      }
      return { ...state, rows: { ...state.rows, [node_id]: { revision, entry } } };
    },
    Forget(state, { node_id, revision }) {
      const known = rowOf(state, node_id);
      if (known === undefined || known.entry !== null || known.revision > revision) return state;
      const { [node_id]: _left, ...rows } = state.rows;
      return { ...state, rows };
    },
    Route(state, { required, number }, turn) {
      const routed = route(state, required, number);
      if (routed.kind === 'no healthy worker') return turn.refuse('unavailable', 'no worker is healthy');
      if (routed.kind === 'none fits') {
        const missing = routed.missing.map(({ message }) => message).join('; ');
        return turn.refuse('no_capable_worker', `no worker has ${missing}`, routed.missing);
      }
      turn.reply({ node_id: routed.nodeId, grpc_address: routed.grpcAddress });
      return state;
    },
    ConfigChanged(state, { config_hash }, turn) {
      for (const id of nodeIds(state)) turn.tell(peerAddress(id), 'SyncConfig', { config_version: config_hash });
      return { ...state, config_hash };
    },
  },
});

/** A node may be called `constructor`. */
const rowOf = ({ rows }: FleetState, id: string): FleetState['rows'][string] | undefined =>
  Object.hasOwn(rows, id) ? rows[id] : undefined;
