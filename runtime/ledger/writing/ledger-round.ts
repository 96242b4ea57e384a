import { RoundKeys, type RoundRun } from '../key-run.ts';
import type { LedgerSegment } from '../segments.ts';
import { LineMemory } from './line-bytes.ts';
import type { RecordedDeliveries } from './recorded-commits.ts';
import { type PackedSegment, SegmentPacker } from './segment-packer.ts';

/** Bytes of lines that are collected before they are written. More gives fewer and larger segments. */
const GATHERED_BYTES = 8_000_000;

/** Bytes of lines that are written together, packed here. */
const GROUP_BYTES = 256_000;
/** The same packed on a thread: fewer transactions, each of which waits for the disk. */
export const THREAD_GROUP_BYTES = 4_000_000;

/** Packed parts of a round, to be written in this order. */
export interface PackedRound {
  /** Segments that are written together. */
  readonly groups: readonly (readonly LedgerSegment[])[];
  /** The keys of the segments of rounds that have ended. */
  readonly runs: readonly RoundRun[];
}

/** Packs the deliveries of rounds, one round at a time. */
export interface RoundPacker {
  /** Begins a round and drops what is left of an earlier one. */
  begin(node: string, round: number): void;
  /**
   * Adds deliveries. Returns what must be written now. A round that ends by that is followed by the one of the number `next`,
   * and a further one by those behind it.
   */
  add(deliveries: readonly RecordedDeliveries[], next: number): Promise<PackedRound | null>;
  end(): Promise<PackedRound>;
}

/** Packs rounds on this thread. */
export class LedgerRound implements RoundPacker {
  readonly #memory = new LineMemory();
  readonly #groupBytes: number;
  #node = '';
  #keys = new RoundKeys('', 0);
  #segments = new SegmentPacker(this.#keys, this.#memory);

  constructor(groupBytes = GROUP_BYTES) {
    this.#groupBytes = groupBytes;
  }

  begin(node: string, round: number): void {
    this.#node = node;
    this.#keys = new RoundKeys(node, round, this.#keys);
    this.#segments = new SegmentPacker(this.#keys, this.#memory);
  }

  add(deliveries: readonly RecordedDeliveries[], next: number): Promise<PackedRound | null> {
    return Promise.resolve(this.addNow(deliveries, next));
  }

  end(): Promise<PackedRound> {
    return Promise.resolve(this.endNow());
  }

  addNow(deliveries: readonly RecordedDeliveries[], next: number): PackedRound | null {
    const ended: PackedRound[] = [];
    for (const some of deliveries) {
      // A piece has too few deliveries for the numbers that a round has left for segments. A stretch may have more.
      for (const piece of some.pieces) {
        this.#segments.add({ ...some, pieces: [piece] });
        if (!this.#keys.isFull) continue;
        ended.push(this.endNow());
        this.begin(this.#node, next + ended.length - 1);
      }
    }
    const groups = this.#segments.size < GATHERED_BYTES ? [] : this.#groups();
    if (ended.length === 0 && groups.length === 0) return null;
    return { groups: [...ended.flatMap((one) => one.groups), ...groups], runs: ended.flatMap(({ runs }) => runs) };
  }

  endNow(): PackedRound {
    const groups = this.#groups();
    return { groups, runs: this.#keys.isEmpty ? [] : [this.#keys.take()] };
  }

  #groups(): LedgerSegment[][] {
    return groupsOf(this.#segments.take(), this.#groupBytes);
  }
}

function groupsOf(packed: readonly PackedSegment[], most: number): LedgerSegment[][] {
  const groups: LedgerSegment[][] = [];
  let [group, bytes]: [LedgerSegment[], number] = [[], most];
  for (const { segment, size } of packed) {
    if (bytes + size > most) {
      [group, bytes] = [[], 0];
      groups.push(group);
    }
    bytes += size;
    group.push(segment);
  }
  return groups;
}
