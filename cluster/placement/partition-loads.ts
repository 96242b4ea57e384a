import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Partition, partitionsOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { PartitionLoad } from '../../usecases/ports/cluster.ts';
import type { Fleet } from './fleet.ts';

interface PartitionLoadsParts {
  readonly store: Pick<ActorStore, 'actorCount' | 'backlog'>;
  readonly clock: Clock;
}

const AT_ONCE = 64;

/** Each partition costs two calls to the store, so open pages share one reading. */
const KEPT_MS = 2_000;

/** Number of actors and waiting messages of each partition. */
export class PartitionLoads {
  readonly #parts: PartitionLoadsParts;
  #last: { readonly fleet: Fleet; readonly at: number; readonly loads: Promise<readonly PartitionLoad[]> } | null =
    null;

  constructor(parts: PartitionLoadsParts) {
    this.#parts = parts;
  }

  /** The loads of all partitions, at most 2 s old. Throws `unavailable`. */
  of(fleet: Fleet): Promise<readonly PartitionLoad[]> {
    const now = this.#parts.clock.monotonic();
    if (this.#last !== null && this.#last.fleet === fleet && now - this.#last.at < KEPT_MS) return this.#last.loads;
    const loads = this.#read(fleet);
    const entry = { fleet, at: now, loads };
    this.#last = entry;
    loads.catch(() => {
      if (this.#last === entry) this.#last = null;
    });
    return loads;
  }

  /** How many actors live in each of these partitions. */
  async actorsIn(partitions: readonly Partition[]): Promise<ReadonlyMap<Partition, number>> {
    const { store } = this.#parts;
    const counts = await inChunks(partitions, (partition) => store.actorCount(partition));
    return new Map(partitions.map((partition, at) => [partition, counts[at] ?? 0]));
  }

  async #read(fleet: Fleet): Promise<readonly PartitionLoad[]> {
    const { store } = this.#parts;
    const all = fleet.pools.flatMap((layout) => {
      const holders = fleet.holdersOf(layout);
      return partitionsOf(layout).map((partition, number) => ({
        partition,
        pool: layout.pool,
        node: holders[number] ?? null,
      }));
    });
    return inChunks(all, async (one) => {
      const [actors, { tail, cursor }] = await Promise.all([
        store.actorCount(one.partition),
        store.backlog(one.partition),
      ]);
      return { ...one, actors, waiting_messages: Math.max(0, tail - cursor) };
    });
  }
}

async function inChunks<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE)
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(each))));
  return results;
}
