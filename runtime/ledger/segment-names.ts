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

/** The id of a segment with deliveries of one partition. */
export const partitionSegmentId = (partition: Partition, first: number): string => `${partition}.${first}`;

/** The id of a segment with deliveries of a group of partitions that share a log. */
export const groupSegmentId = (group: PartitionGroup, log: SharedLog, first: number): string =>
  `${group}/${first}/${log}`;

/** The parts of a segment's id. */
export interface SegmentPlace {
  /** Null: each line of the segment names its partition of the group. */
  readonly partition: Partition | null;
  readonly group: PartitionGroup;
  readonly first: number;
}

const OF_GROUP = /^(.+)~(\d+)\/([\d.]+)\/log-/;
const OF_PARTITION = /^(.*?):(\d+)\.([\d.]+)$/;

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
