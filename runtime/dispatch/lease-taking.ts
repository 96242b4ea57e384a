import type { AcquireOutcome, ActorStore } from '../actor-store.ts';
import { type Partition, poolOf } from '../address.ts';
import { toSvcError } from '../errors.ts';
import type { Placement } from '../placement.ts';
import type { Random } from '../random.ts';
import type { LogServer } from './log-server.ts';

export interface LeaseTaking {
  readonly store: ActorStore;
  readonly node: string;
  readonly random: Random;
  readonly placement: Placement;
  readonly leaseTtlMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

/** Takes a lease that is free, or held by a node that was seen to be gone: its own lease is not waited for (design P2). */
export async function takeLease(parts: LeaseTaking, partition: Partition): Promise<AcquireOutcome> {
  const { store, node, random, leaseTtlMs, placement } = parts;
  const grant = random.uuid();
  const outcome = await store.acquire(partition, node, grant, leaseTtlMs);
  if (outcome.kind === 'granted' || outcome.behind !== undefined) return outcome;
  if (!(await placement.isGone(outcome.by))) return outcome;
  return store.acquire(partition, node, grant, leaseTtlMs, outcome.grant);
}

const AT_ONCE = 64;

/** Answers the soonest time, milliseconds, at which one that another holds may be free; infinity for none. */
export async function takeAll(
  partitions: readonly Partition[],
  warn: LeaseTaking['warn'],
  take: (partition: Partition) => Promise<number>,
): Promise<number> {
  let soonestMs = Number.POSITIVE_INFINITY;
  const failures: unknown[] = [];
  for (let start = 0; start < partitions.length; start += AT_ONCE) {
    // Each may have a server of its own (Redis Cluster): those that can be had are served, the rest at the next look.
    const waits = partitions.slice(start, start + AT_ONCE).map((partition) =>
      take(partition).catch((thrown: unknown) => {
        failures.push(thrown);
        return Number.POSITIVE_INFINITY;
      }),
    );
    soonestMs = Math.min(soonestMs, ...(await Promise.all(waits)));
  }
  if (failures.length > 0) warn(`${failures.length} partitions could not be taken`, toSvcError(failures[0]));
  return soonestMs;
}

/** Those that another member would take over now; none when nobody can tell. */
export async function servedByOthers(
  { placement, warn }: LeaseTaking,
  servers: readonly LogServer<Partition>[],
): Promise<LogServer<Partition>[]> {
  const served = new Map<string, boolean>();
  if (servers.length === 0) return [];
  try {
    // A look at the fleet without this node, which drains.
    await placement.assign();
    for (const { lease } of servers) {
      const pool = poolOf(lease.log);
      if (!served.has(pool)) served.set(pool, await placement.isServed(pool));
    }
  } catch (thrown) {
    warn('who else serves is not known', toSvcError(thrown));
  }
  return servers.filter(({ lease }) => served.get(poolOf(lease.log)) === true);
}
