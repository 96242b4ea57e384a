import type { ErrorDetail } from '../../runtime/errors.ts';
import type { Requirement } from '../node-peer/capabilities.ts';
import { type FleetState, nodeIds, type RosterEntry } from './roster.ts';

export type Routed =
  | { readonly kind: 'to'; readonly nodeId: string; readonly grpcAddress: string }
  | { readonly kind: 'no healthy worker' }
  | { readonly kind: 'none fits'; readonly missing: readonly ErrorDetail[] };

interface Worker {
  readonly id: string;
  readonly entry: RosterEntry;
}

/** Round-robin over healthy workers that hold all that is required (spec 1, rule 1): `number` counts the calls. */
export function route(state: FleetState, required: Requirement, number: number): Routed {
  const workers = nodeIds(state).flatMap((id): Worker[] => {
    const entry = state.rows[id]?.entry;
    return entry !== undefined && entry !== null && takesWork(entry) ? [{ id, entry }] : [];
  });
  if (workers.length === 0) return { kind: 'no healthy worker' };
  const fitting = workers.filter(({ entry }) => missingIn(entry, required).length === 0);
  const chosen = fitting[number % fitting.length];
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

/** What the worker that comes nearest still lacks: the shortest list of things an operator can add. */
function leastMissing(workers: readonly Worker[], required: Requirement): ErrorDetail[] {
  const lists = workers.map(({ entry }) => missingIn(entry, required));
  return lists.reduce((least, one) => (one.length < least.length ? one : least));
}
