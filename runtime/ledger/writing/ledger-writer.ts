import type { SharedLog } from '../../address.ts';
import type { Clock } from '../../clock.ts';
import type { Collection, Documents } from '../../documents.ts';
import { turnsFirst } from '../../kit/waits.ts';
import type { ProjectedCommit } from '../../projection/views.ts';
import type { Random } from '../../random.ts';
import { type KeyRun, KeyRunWriter, type RoundRun } from '../key-run.ts';
import type { KeyRuns } from '../key-runs.ts';
import { DEAD_LETTERS, type DeadLetter, deadLettersOf, LEDGER, type LedgerSegment } from '../segments.ts';
import { LedgerRound, type PackedRound, type RoundPacker } from './ledger-round.ts';
import { LedgerThread } from './ledger-thread.ts';
import { RecordedCommits, type RecordedDeliveries, type RecordedPiece } from './recorded-commits.ts';

/**
 * Bytes of deliveries that are packed at a time: a millisecond or two of this thread. The packing thread gets fewer, larger
 * requests.
 */
const STRETCH_BYTES = 64_000;
const THREAD_STRETCH_BYTES = 4_000_000;

/** A write of this many deliveries is packed on another thread: some 2,000 a second. */
const THREAD_FROM = 1_000;

/** The parts of one log's commits that the ledger stores, oldest first. */
export interface LedgerPart {
  /** Null: deliveries are not recorded. */
  readonly recorded: RecordedDeliveries | null;
  readonly deliveries: number;
  readonly letters: readonly DeadLetter[];
}

/** The parts of one log's commits that the ledger stores. `sharedLog` is null when each partition has its own log. */
export function ledgerPart(sharedLog: SharedLog | null, commits: readonly ProjectedCommit[]): LedgerPart {
  const recorded = new RecordedCommits(sharedLog);
  let [bytes, deliveries] = [0, 0];
  for (const commit of commits) {
    const added = recorded.add(commit);
    bytes += added.bytes;
    deliveries += added.deliveries;
  }
  return { recorded: recorded.first(bytes), deliveries, letters: commits.flatMap(deadLettersOf) };
}

function* stretchesOf(parts: readonly LedgerPart[], most: number): Generator<readonly RecordedDeliveries[]> {
  let [stretch, bytes]: [RecordedDeliveries[], number] = [[], 0];
  for (const { recorded } of parts) {
    if (recorded === null) continue;
    let pieces: RecordedPiece[] = [];
    for (const piece of recorded.pieces) {
      pieces.push(piece);
      bytes += piece.to - piece.from;
      if (bytes < most) continue;
      yield [...stretch, { ...recorded, pieces }];
      [stretch, pieces, bytes] = [[], [], 0];
    }
    if (pieces.length > 0) stretch.push({ ...recorded, pieces });
  }
  if (stretch.length > 0) yield stretch;
}

interface LedgerWriterParts {
  readonly node: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  /** Null: deliveries are not recorded, only dead letters. */
  readonly keys: KeyRuns | null;
}

/**
 * Writes deliveries with their keys, and dead letters, into documents (R3): first the segments, then the run of their
 * keys, so that a key names a segment that exists. Writing the same commits again after a crash writes the same
 * documents, or deliveries twice, of which readers take the first.
 */
export class LedgerWriter {
  readonly #parts: LedgerWriterParts;
  readonly #segments: Collection<LedgerSegment>;
  readonly #deadLetters: Collection<DeadLetter>;
  readonly #here = new LedgerRound();
  readonly #thread = new LedgerThread();
  #round = 0;

  static async open(parts: LedgerWriterParts & { readonly documents: Documents }): Promise<LedgerWriter> {
    const { documents } = parts;
    return new LedgerWriter(
      parts,
      await documents.collection<LedgerSegment>(LEDGER),
      await documents.collection<DeadLetter>(DEAD_LETTERS),
    );
  }

  constructor(parts: LedgerWriterParts, segments: Collection<LedgerSegment>, deadLetters: Collection<DeadLetter>) {
    this.#parts = parts;
    this.#segments = segments;
    this.#deadLetters = deadLetters;
  }

  async write(parts: readonly LedgerPart[]): Promise<void> {
    if (this.#parts.keys !== null) await this.#writeSegments(this.#parts.keys, parts);
    const letters = parts.flatMap((part) => part.letters);
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }

  /** Ends the thread that packs. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #writeSegments(runs: KeyRuns, parts: readonly LedgerPart[]): Promise<void> {
    const packer = this.#packerFor(parts);
    packer.begin(this.#parts.node, await this.#nextRound(runs));
    for (const stretch of stretchesOf(parts, packer === this.#here ? STRETCH_BYTES : THREAD_STRETCH_BYTES)) {
      const next = Math.max(this.#round + 1, this.#parts.clock.now());
      const packed = await packer.add(stretch, next);
      if (packed !== null) {
        if (packed.runs.length > 0) this.#round = next + packed.runs.length - 1;
        await this.#put(runs, packed);
      }
      await turnsFirst();
    }
    await this.#put(runs, await packer.end());
  }

  #packerFor(parts: readonly LedgerPart[]): RoundPacker {
    const deliveries = parts.reduce((sum, part) => sum + part.deliveries, 0);
    return deliveries >= THREAD_FROM && this.#thread.isReady ? this.#thread : this.#here;
  }

  /** Writes segments, and then their keys. */
  async #put(runs: KeyRuns, { groups, runs: ended }: PackedRound): Promise<void> {
    for (const segments of groups) await this.#segments.putMany(segments);
    for (const run of ended) await this.#putKeys(runs, run);
  }

  async #putKeys(runs: KeyRuns, run: RoundRun): Promise<void> {
    const { node, clock, random } = this.#parts;
    const writer = new KeyRunWriter(runs.collections, { id: `${node}.${random.uuid()}`, node, level: 0 }, clock.now());
    for (const segment of run.segments) await writer.addSegment(segment);
    writer.addPages(run.keys);
    const written = await writer.finish(clock.now(), []);
    if (written !== null) runs.add(written);
  }

  /** Numbers grow over restarts of the node, also when its clock was set back. */
  async #nextRound(keys: KeyRuns): Promise<number> {
    if (this.#round === 0) this.#round = Math.max(0, ...(await this.#ownRuns(keys)).map((run) => run.last_round));
    this.#round = Math.max(this.#round + 1, this.#parts.clock.now());
    return this.#round;
  }

  async #ownRuns(keys: KeyRuns): Promise<readonly KeyRun[]> {
    return (await keys.heads()).filter(({ node }) => node === this.#parts.node);
  }
}
