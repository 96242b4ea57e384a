import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { PlaceOutcome, PlaceWish } from '../client.ts';
import type { Registry } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import { type Locator, type Placement, poolOfTags } from '../locator.ts';
import type { Members } from '../members.ts';

/** Maximum number of pools, `default` and `system` included. */
const MOST_POOLS = 256;

/** The partitions that this process serves. */
export interface ServedHere {
  /**
   * Returns a partition of the pool that this node holds, and acquires a free one when it holds none. Null when it gets
   * none.
   */
  holdOne(pool: string): Promise<Partition | null>;
}

export interface PlacingParts {
  readonly store: Pick<ActorStore, 'definePool'> & Pick<Members, 'pools'>;
  readonly registry: Registry;
  readonly locator: Locator;
  /** Partitions of a pool for tags; fixed when the pool is created. */
  readonly tagPoolPartitions: number;
  readonly placement: Pick<Placement, 'isServed' | 'poolDefined'>;
  /** Null in a process that serves nothing. */
  readonly here: ServedHere | null;
}

/** Places an actor in a partition before its first message (K1, P1, P4). */
export async function placeActor(parts: PlacingParts, address: Address, wish: PlaceWish): Promise<PlaceOutcome> {
  const { registry, locator, placement, here } = parts;
  const pool = wish.pool ?? poolOfTags(wish.tags);
  await knowPool(parts, pool);
  const held = (wish.here === true ? await here?.holdOne(pool) : null) ?? null;
  const wanted = held ?? registry.partitionIn(pool, address);
  // An address at home needs no entry, unless another caller placed it elsewhere before. A partition that depends on
  // this node instead of the address is always written, because another node with the same request would choose
  // otherwise.
  const atHome = held === null && wanted === registry.homeOf(address);
  const partition = atHome ? await locator.locate(address) : await locator.place(address, wanted);
  return { pool, partition, served: await placement.isServed(pool) };
}

/**
 * Defines a pool when the first actor with its tags is placed. Later calls use the stored size. Throws `failed_precondition`
 * when the maximum number of pools exists: each pool costs its nodes leases, and tags come from manifests.
 */
async function knowPool({ store, registry, tagPoolPartitions, placement }: PlacingParts, pool: string): Promise<void> {
  if (registry.knows(pool)) return;
  const pools = await store.pools();
  const known = pools.some((layout) => layout.pool === pool);
  if (!known && pools.length >= MOST_POOLS) {
    const text = `the fleet has ${MOST_POOLS} pools, the maximum: use the tags of an existing pool`;
    throw new SvcError('failed_precondition', text, { field: 'target_tags' });
  }
  registry.learn({ pool, partitions: await store.definePool(pool, tagPoolPartitions) });
  if (!known) await placement.poolDefined();
}
