import type { Partition, SharedLog } from '../address.ts';

/** A part of a pool's partitions, `pool~number`, whose deliveries share segments while the partitions share a log. */
export type PartitionGroup = `${string}~${number}`;

/** Groups of a pool. Names of stored segments hold them, so the number never changes. */
const GROUPS = 16;

/** The group of a partition, and its number in the pool. */
export function groupOf(partition: Partition): { readonly group: PartitionGroup; readonly number: number } {
  const colon = partition.lastIndexOf(':');
  const number = Number(partition.slice(colon + 1));
  return { group: `${partition.slice(0, colon)}~${number % GROUPS}`, number };
}

/** The delivery with which a segment begins. */
export interface SegmentStart {
  /** Position in the log. */
  readonly seq: number;
  /** When it was appended, Unix ms. */
  readonly at: number;
  /** Lease epoch of the commit that handled it. */
  readonly epoch: number;
}

/**
 * The position with four decimals, and behind them time and epoch. A store that lost its last writes, or was restored, gives
 * positions again that the ledger has: by the position alone the new segment would have the name of an old one, and documents
 * refuse it when the old one is longer. An earlier program reads all digits as the position, which changes its fifth decimal.
 */
const startName = ({ seq, at, epoch }: SegmentStart): string => `${seq.toFixed(4)}${Math.floor(at)}${epoch}`;

/** The id of a segment with deliveries of one partition. */
export const partitionSegmentId = (partition: Partition, start: SegmentStart): string =>
  `${partition}.${startName(start)}`;

/** The id of a segment with deliveries of a group of partitions that share a log. */
export const groupSegmentId = (group: PartitionGroup, log: SharedLog, start: SegmentStart): string =>
  `${group}/${startName(start)}/${log}`;

/** The parts of a segment's id. */
export interface SegmentPlace {
  /** Null: each line of the segment names its partition of the group. */
  readonly partition: Partition | null;
  readonly group: PartitionGroup;
  readonly first: number;
}

/** Earlier programs gave names without time and epoch. */
const OF_GROUP = /^(.+)~(\d+)\/(\d+(?:\.\d{1,4})?)\d*\/log-/;
const OF_PARTITION = /^(.*?):(\d+)\.(\d+(?:\.\d{1,4})?)\d*$/;

export function placeOfSegment({ id }: { readonly id: string }): SegmentPlace {
  const [, pool = '', group, first] = OF_GROUP.exec(id) ?? [];
  if (group !== undefined) return { partition: null, group: `${pool}~${Number(group)}`, first: Number(first) };
  const [, name = 'unknown', number = '0', from = '0'] = OF_PARTITION.exec(id) ?? [];
  const partition: Partition = `${name}:${Number(number)}`;
  return { partition, group: groupOf(partition).group, first: Number(from) };
}

/** The partition of a line of a segment. Lines of a segment of a group end with the partition's number. */
export function partitionOfLine({ partition, group }: SegmentPlace, number: number | undefined): Partition {
  return partition ?? `${group.slice(0, group.lastIndexOf('~'))}:${number ?? 0}`;
}
