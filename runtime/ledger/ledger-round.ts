import { RoundKeys, type RoundRun } from './key-run.ts';
import { packLines } from './packing.ts';
import { type RecordedCommit, type RecordedDelivery, recordedIn } from './recorded-delivery.ts';
import { type LedgerSegment, LedgerSegments } from './segments.ts';

/** Characters of lines that are collected before they are written. More gives fewer and larger segments. */
const GATHERED_CHARS = 8_000_000;

/** Characters of lines that are packed and written together: some milliseconds of a thread. */
const GROUP_CHARS = 256_000;

/** What was packed of a round, to be written in this order. */
export interface PackedRound {
  /** Segments that are written together. */
  readonly groups: readonly (readonly LedgerSegment[])[];
  /** The keys of the round's segments, when it has ended. */
  readonly run: RoundRun | null;
}

/** Packs the deliveries of rounds, one round at a time. */
export interface RoundPacker {
  /** Begins a round and drops what is left of an earlier one. */
  begin(node: string, round: number): void;
  /** Adds commits. Returns what must be written now; a round that ends by that is followed by the one of the number `next`. */
  add(commits: readonly RecordedCommit[], next: number): Promise<PackedRound | null>;
  end(): Promise<PackedRound>;
}

/** Packs rounds on this thread. */
export class LedgerRound implements RoundPacker {
  #node = '';
  #keys = new RoundKeys('', 0);
  #segments = new LedgerSegments(this.#keys);

  begin(node: string, round: number): void {
    this.#node = node;
    this.#keys = new RoundKeys(node, round);
    this.#segments = new LedgerSegments(this.#keys);
  }

  add(commits: readonly RecordedCommit[], next: number): Promise<PackedRound | null> {
    return this.addAll(
      commits.flatMap((one) => [...recordedIn(one)]),
      next,
    );
  }

  async addAll(deliveries: Iterable<RecordedDelivery>, next: number): Promise<PackedRound | null> {
    for (const one of deliveries) this.#segments.add(one);
    if (this.#keys.isFull) {
      const packed = await this.end();
      this.begin(this.#node, next);
      return packed;
    }
    if (this.#segments.chars < GATHERED_CHARS) return null;
    return { groups: await groupsOf(this.#segments.take()), run: null };
  }

  async end(): Promise<PackedRound> {
    const groups = await groupsOf(this.#segments.take());
    return { groups, run: this.#keys.isEmpty ? null : this.#keys.take() };
  }
}

async function groupsOf(segments: readonly LedgerSegment[]): Promise<LedgerSegment[][]> {
  const groups: LedgerSegment[][] = [];
  let [group, chars]: [LedgerSegment[], number] = [[], GROUP_CHARS];
  for (const segment of segments) {
    if (chars + segment.lines.length > GROUP_CHARS) {
      [group, chars] = [[], 0];
      groups.push(group);
    }
    chars += segment.lines.length;
    const lines = await packLines(segment.lines);
    group.push({ ...segment, lines, bytes: lines.length });
  }
  return groups;
}
