import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';
import type { ErrorDetail } from '../../runtime/errors.ts';
import { peerAddress, Requirement } from '../node-peer/state.ts';
import { type FleetState, MOST_NODES, nodeIds, type RosterEntry, RosterUpdate, FleetState as State } from './roster.ts';

/**
 * The members of the fleet, and the routing of executions to them (P4). It changes when a node joins, leaves or changes its
 * status, never with a heartbeat or a routed call: its record is as large as the fleet, so data that changes often is stored
 * elsewhere.
 */
export const fleet = defineActor({
  kind: 'fleet',
  version: 1,
  pool: 'system',
  state: State,
  initial: () => ({ rows: {}, config_hash: '' }),
  messages: {
    /** A change of a node, sent by its actor and again by the API before it answers: idempotent. Stored under this name. */
    Hear: RosterUpdate,
    /** A node left long ago; its revisions start again. */
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
        return turn.refuse(
          'failed_precondition',
          `the fleet has ${MOST_NODES} registered nodes, the maximum; remove one first`,
        );
      }
      // The node may have fetched the configuration just before it changed.
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
      if (routed.kind === 'no healthy worker') {
        const { draining } = routed;
        const which = draining === undefined ? '' : `; worker ${draining} has it and is draining`;
        return turn.refuse('unavailable', `no worker is healthy${which}`);
      }
      if (routed.kind === 'draining') {
        return turn.refuse('no_capable_worker', `worker ${routed.nodeId} has it and is draining`);
      }
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

/** Own keys only: a node may have the id `constructor`. */
const rowOf = ({ rows }: FleetState, id: string): FleetState['rows'][string] | undefined =>
  Object.hasOwn(rows, id) ? rows[id] : undefined;

type Routed =
  | { readonly kind: 'to'; readonly nodeId: string; readonly grpcAddress: string }
  | { readonly kind: 'no healthy worker'; readonly draining: string | undefined }
  /** The only suitable workers accept no new work. */
  | { readonly kind: 'draining'; readonly nodeId: string }
  | { readonly kind: 'none fits'; readonly missing: readonly ErrorDetail[] };

interface Worker {
  readonly id: string;
  readonly entry: RosterEntry;
}

/** Round-robin over the healthy workers that meet the requirement (G28); `number` counts the calls. */
function route(state: FleetState, required: Requirement, number: number): Routed {
  const workers = nodeIds(state).flatMap((id): Worker[] => {
    const entry = state.rows[id]?.entry;
    return entry !== undefined && entry !== null && takesWork(entry) ? [{ id, entry }] : [];
  });
  const draining = nodeIds(state).find((id) => {
    const entry = state.rows[id]?.entry;
    return entry?.status === 'DRAINING' && entry.role !== 'CONTROLLER' && missingIn(entry, required).length === 0;
  });
  if (workers.length === 0) return { kind: 'no healthy worker', draining };
  const fitting = workers.filter(({ entry }) => missingIn(entry, required).length === 0);
  const chosen = fitting[number % fitting.length];
  if (chosen === undefined && draining !== undefined) return { kind: 'draining', nodeId: draining };
  if (chosen === undefined) return { kind: 'none fits', missing: leastMissing(workers, required) };
  return { kind: 'to', nodeId: chosen.id, grpcAddress: chosen.entry.grpc_address };
}

const takesWork = ({ role, status, overdue }: RosterEntry): boolean =>
  role !== 'CONTROLLER' && status === 'ACTIVE' && !overdue;

const MINIMUMS = ['gpu_count', 'vram_gb', 'cpu_cores', 'available_memory_gb'] as const;

const SETS = ['supported_runtimes', 'tags'] as const;

function missingIn({ capabilities }: RosterEntry, required: Requirement): ErrorDetail[] {
  const missing: ErrorDetail[] = [];
  for (const path of MINIMUMS) {
    const least = required[path] ?? 0;
    if (capabilities[path] < least) missing.push({ path, message: `${path} ${least}` });
  }
  for (const path of SETS) {
    for (const one of required[path] ?? []) {
      if (!capabilities[path].includes(one)) missing.push({ path, message: `${path} ${one}` });
    }
  }
  return missing;
}

/** The shortest list of things that an operator can add to make one worker suitable. */
function leastMissing(workers: readonly Worker[], required: Requirement): ErrorDetail[] {
  const lists = workers.map(({ entry }) => missingIn(entry, required));
  return lists.reduce((least, one) => (one.length < least.length ? one : least));
}

/** Requirements with their own counter; above it the least recently used one is dropped. */
const MOST_COUNTERS = 256;

/**
 * Numbers the calls of RouteExecution for each requirement separately: with one counter, two callers that alternate
 * would each get only every second worker. The counters are not in the roster because they change with every call.
 */
export const fleetRotation = defineActor({
  kind: 'fleet-rotation',
  version: 1,
  pool: 'system',
  state: z.object({
    total: z.number().int(),
    /** The most recently used is last. */
    counters: z.array(z.object({ key: z.string(), next: z.number().int() })).max(MOST_COUNTERS),
  }),
  initial: () => ({ total: 0, counters: [] }),
  /** `key`: hash of the requirement. */
  messages: { Next: z.object({ key: z.string().min(1).max(64) }) },
  events: {},
  on: {
    Next({ total, counters }, { key }, turn) {
      // A new requirement starts at the total of the others, so that different requirements start at different workers.
      const number = counters.find((counter) => counter.key === key)?.next ?? total;
      turn.reply({ number });
      const others = counters.filter((counter) => counter.key !== key).slice(1 - MOST_COUNTERS);
      return { total: total + 1, counters: [...others, { key, next: number + 1 }] };
    },
  },
});
