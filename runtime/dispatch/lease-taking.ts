import type { AcquireOutcome, ActorStore, Lease } from '../actor-store.ts';
import { type Partition, poolOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { SharedRuns } from '../kit/queues.ts';
import { sleep, within } from '../kit/waits.ts';
import type { Placement } from '../locator.ts';
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

/** Acquires a lease that is free, or held by a node that is known to be gone, without waiting for that lease to expire (P2). */
export async function takeLease(parts: LeaseTaking, partition: Partition): Promise<AcquireOutcome> {
  const { store, node, random, leaseTtlMs, placement } = parts;
  const grant = random.uuid();
  const outcome = await store.acquire(partition, node, grant, leaseTtlMs);
  if (outcome.kind === 'granted' || outcome.behind !== undefined) return outcome;
  if (!(await placement.isGone(outcome.by))) return outcome;
  return store.acquire(partition, node, grant, leaseTtlMs, outcome.grant);
}

const AT_ONCE = 64;

/**
 * Acquires the leases of all these partitions. Returns after how many milliseconds one that another node holds may be
 * free; infinity when there is none.
 */
export async function takeAll(
  partitions: readonly Partition[],
  warn: LeaseTaking['warn'],
  take: (partition: Partition) => Promise<number>,
): Promise<number> {
  let soonestMs = Number.POSITIVE_INFINITY;
  const failures: unknown[] = [];
  for (let start = 0; start < partitions.length; start += AT_ONCE) {
    // Each may be on its own server (Redis Cluster): the granted leases are served, the others are tried in the next round.
    const waits = partitions.slice(start, start + AT_ONCE).map((partition) =>
      take(partition).catch((thrown: unknown) => {
        failures.push(thrown);
        return Number.POSITIVE_INFINITY;
      }),
    );
    soonestMs = Math.min(soonestMs, ...(await Promise.all(waits)));
  }
  if (failures.length > 0)
    warn(
      `${counted(failures.length, 'partition')} could not be acquired; the next round tries again`,
      toSvcError(failures[0]),
    );
  return soonestMs;
}

/** The partitions that another member would take over now. Pools that cannot be checked count as not served. */
export async function servedByOthers(
  { placement, warn }: LeaseTaking,
  servers: readonly LogServer<Partition>[],
): Promise<LogServer<Partition>[]> {
  const served = new Map<string, boolean>();
  if (servers.length === 0) return [];
  try {
    // Reads the members without this node, which is draining.
    await placement.assign();
    for (const { lease } of servers) {
      const pool = poolOf(lease.log);
      if (!served.has(pool)) served.set(pool, await placement.isServed(pool));
    }
  } catch (thrown) {
    warn('the members could not be read: this node serves its partitions until it has stopped', toSvcError(thrown));
  }
  return servers.filter(({ lease }) => served.get(poolOf(lease.log)) === true);
}

/** When the node lease and each partition lease were last confirmed. All times are monotonic milliseconds. */
export class LeaseAges {
  #joinedAt = Number.NEGATIVE_INFINITY;
  readonly #keptAt = new Map<LogServer, number>();
  /**
   * At most the smallest of `#keptAt`. It is kept because reading all of them at each turn would cost more than the
   * turn.
   */
  #oldestAt = Number.POSITIVE_INFINITY;

  joined(at: number): void {
    this.#joinedAt = at;
  }

  kept(server: LogServer, at: number): void {
    this.#keptAt.set(server, at);
    this.#oldestAt = Math.min(this.#oldestAt, at);
  }

  drop(server: LogServer): void {
    const at = this.#keptAt.get(server);
    if (this.#keptAt.delete(server) && at === this.#oldestAt) this.look();
  }

  /**
   * Leases that were not renewed since `before`. `renewedAt` returns renewals made while the event loop was blocked
   * (`Leases.renewedAt`).
   */
  late(before: number, renewedAt: (lease: Lease) => number | null): LogServer[] {
    if (this.#oldestAt >= before) return [];
    for (const [server, at] of this.#keptAt) {
      const since = at < before ? renewedAt(server.lease) : null;
      if (since !== null && since > at) this.#keptAt.set(server, since);
    }
    this.look();
    return [...this.#keptAt].flatMap(([server, at]) => (at < before ? [server] : []));
  }

  /** Updates `#oldestAt` after renewals, which do not change it. */
  look(): void {
    this.#oldestAt = Math.min(Number.POSITIVE_INFINITY, ...this.#keptAt.values());
  }

  /** The oldest confirmation of all leases, the node's own included. */
  get oldestAt(): number {
    return Math.min(this.#joinedAt, this.#oldestAt);
  }
}

interface HandOverParts {
  readonly store: Pick<ActorStore, 'release'>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/** Longest wait for a running batch. The commit of one that runs longer will be fenced. */
const DRAINED_WITHIN_MS = 10_000;

/**
 * Releases one partition after its running batch, for the member that wants it (P2), and announces it: other partitions may
 * have batches that run for long.
 */
export async function handOver(
  parts: HandOverParts,
  server: LogServer<Partition>,
  lose: () => void,
  announce: SharedRuns,
): Promise<void> {
  try {
    await drained(parts.clock, server);
    lose();
    await parts.store.release(server.lease);
  } catch (thrown) {
    parts.warn('a lease could not be released; other nodes take the partition when it expires', toSvcError(thrown));
  }
  await announce.run();
}

const ANNOUNCE_TOGETHER_MS = 10;

/** Tells the other nodes that partitions are free, once for all that become free within some milliseconds. */
export const announcing = (parts: Pick<LeaseTaking, 'placement' | 'warn'> & Pick<HandOverParts, 'clock'>): SharedRuns =>
  new SharedRuns(async () => {
    // A process may have nothing else to do when it stops, and timers of the clock do not keep it alive.
    const alive = setInterval(() => {}, ANNOUNCE_TOGETHER_MS);
    await sleep(parts.clock, ANNOUNCE_TOGETHER_MS);
    clearInterval(alive);
    await logged(parts, 'announcing free partitions', parts.placement.freed());
  });

/** Resolves when the running work has committed, or after the time limit. */
export async function drained(clock: Clock, server: LogServer): Promise<void> {
  await within(clock, DRAINED_WITHIN_MS, server.drain());
}

/** Reports the failure of a step while leaving, and continues: without the store the leases expire. */
export async function logged({ warn }: Pick<HandOverParts, 'warn'>, what: string, work: Promise<void>): Promise<void> {
  await work.catch((thrown: unknown) => warn(`${what} failed`, toSvcError(thrown)));
}
