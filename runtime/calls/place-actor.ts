import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { PlaceOutcome, PlaceWish } from '../client.ts';
import type { Registry } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import { type Locator, type Placement, poolOfTags } from '../locator.ts';
import type { Members } from '../members.ts';

/** `default` and `system` among them. */
const MOST_POOLS = 256;

/** What the process itself serves. */
export interface ServedHere {
  /** A partition of the pool that this node holds, taking a free one when it has none; null when it gets none. */
  holdOne(pool: string): Promise<Partition | null>;
}

export interface PlacingParts {
  readonly store: Pick<ActorStore, 'definePool'> & Pick<Members, 'pools'>;
  readonly registry: Registry;
  readonly locator: Locator;
  /** Partitions of a pool for tags, fixed when it is made. */
  readonly tagPoolPartitions: number;
  readonly placement: Pick<Placement, 'isServed' | 'poolDefined'>;
  /** Null in a process that serves nothing. */
  readonly here: ServedHere | null;
}

/** Gives an actor a home before its first message (K1, P1, P4). */
export async function placeActor(parts: PlacingParts, address: Address, wish: PlaceWish): Promise<PlaceOutcome> {
  const { registry, locator, placement, here } = parts;
  const pool = poolOfTags(wish.tags);
  await knowPool(parts, pool);
  const held = (wish.here === true ? await here?.holdOne(pool) : null) ?? null;
  const wanted = held ?? registry.partitionIn(pool, address);
  // An address at home needs no entry; one that another caller placed elsewhere before has one. What follows from this
  // node instead of the address is always written: another node that is told the same would answer otherwise.
  const atHome = held === null && wanted === registry.homeOf(address);
  const partition = atHome ? await locator.locate(address) : await locator.place(address, wanted);
  return { pool, partition, served: await placement.isServed(pool) };
}

/**
 * Defines a pool at the first actor with its tags; after that its size is the store's. Throws `failed_precondition`
 * beyond the most there may be: each costs its nodes leases to keep, and tags come from manifests.
 */
async function knowPool({ store, registry, tagPoolPartitions, placement }: PlacingParts, pool: string): Promise<void> {
  if (registry.knows(pool)) return;
  const pools = await store.pools();
  const known = pools.some((layout) => layout.pool === pool);
  if (!known && pools.length >= MOST_POOLS) {
    const text = `the fleet has work for ${MOST_POOLS} sets of tags, which is the most: use one of those`;
    throw new SvcError('failed_precondition', text, { field: 'target_tags' });
  }
  registry.learn({ pool, partitions: await store.definePool(pool, tagPoolPartitions) });
  if (!known) await placement.poolDefined();
}
