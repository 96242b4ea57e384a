import type { Cluster } from 'ioredis';
import { formatNoteText, TAGS_FORMAT } from '../format.ts';
import { formatFact } from '../store-facts.ts';
import { type Keys, SLOT_TAGS } from './keys.ts';

/** Fact of a store whose partitions have slots together. */
const FACT = 'slot_tags';
/** Behind a pool's count in such a store: the fact is on another master, which may lose it in a failover. */
const POOL_MARK = ` format=${TAGS_FORMAT}`;

/** A pool's count of partitions, as it is stored where partitions have slots together. */
export const taggedCount = (partitions: number): string => `${partitions}${POOL_MARK}`;

/**
 * Whether the partitions of a store on Redis Cluster have `SLOT_TAGS` hash tags together, instead of one each. An empty store
 * gets them now; one with data of an earlier version keeps its keys, and every node reads that here before it makes any. Programs
 * that know nothing of it are refused by the format that is noted with it, in one write.
 */
export async function hasSlotTags(connection: Cluster, keys: Keys): Promise<boolean> {
  const [fact, pools] = await Promise.all([connection.hget(keys.facts, FACT), connection.hvals(keys.pools)]);
  if (fact !== null) return true;
  if (pools.some((count) => !count.endsWith(POOL_MARK))) return false;
  await connection.hset(keys.facts, FACT, SLOT_TAGS, formatFact(TAGS_FORMAT), formatNoteText(TAGS_FORMAT));
  return true;
}
