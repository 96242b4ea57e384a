import type { SharedLog } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Collection, Documents } from '../documents.ts';
import { turnsFirst } from '../kit/waits.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { Random } from '../random.ts';
import { type KeyRun, KeyRunWriter } from './key-run.ts';
import type { KeyRuns } from './key-runs.ts';
import { LedgerRound, type PackedRound, type RoundPacker } from './ledger-round.ts';
import { LedgerThread } from './ledger-thread.ts';
import type { RecordedCommit } from './recorded-delivery.ts';
import { DEAD_LETTERS, type DeadLetter, deadLettersOf, LEDGER, type LedgerSegment } from './segments.ts';

/** Characters of message bodies that are handled in one go: some milliseconds of the main thread. */
const STRETCH_CHARS = 64_000;
const STRETCH_DELIVERIES = 1_000;

/** A write of this many deliveries is packed on another thread: some 2,000 a second. */
const THREAD_FROM = 1_000;

/** Commits of one log, oldest first. */
export interface LedgerPart {
  /** Null: each partition has a log of its own. */
  readonly sharedLog: SharedLog | null;
  readonly commits: readonly ProjectedCommit[];
}

function* stretchesOf(parts: readonly LedgerPart[]): Generator<readonly RecordedCommit[]> {
  let [stretch, chars, deliveries]: [RecordedCommit[], number, number] = [[], 0, 0];
  for (const { sharedLog: log, commits } of parts) {
    for (const commit of commits) {
      stretch.push({ log, commit });
      deliveries += commit.entries.length;
      for (const { body } of commit.entries) chars += body.length;
      if (chars < STRETCH_CHARS && deliveries < STRETCH_DELIVERIES) continue;
      yield stretch;
      [stretch, chars, deliveries] = [[], 0, 0];
    }
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
    const letters = parts.flatMap(({ commits }) => deadLettersOf(commits));
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }

  /** Ends the thread that packs. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #writeSegments(runs: KeyRuns, parts: readonly LedgerPart[]): Promise<void> {
    const packer = this.#packerFor(parts);
    packer.begin(this.#parts.node, await this.#nextRound(runs));
    for (const stretch of stretchesOf(parts)) {
      const next = Math.max(this.#round + 1, this.#parts.clock.now());
      const packed = await packer.add(stretch, next);
      if (packed !== null) await this.#put(runs, packed);
      if (packed !== null && packed.run !== null) this.#round = next;
      await turnsFirst();
    }
    await this.#put(runs, await packer.end());
  }

  #packerFor(parts: readonly LedgerPart[]): RoundPacker {
    let deliveries = 0;
    for (const { commits } of parts) for (const { entries } of commits) deliveries += entries.length;
    return deliveries >= THREAD_FROM && this.#thread.isReady ? this.#thread : this.#here;
  }

  /** Writes segments, and then their keys. */
  async #put(runs: KeyRuns, { groups, run }: PackedRound): Promise<void> {
    for (const segments of groups) await this.#segments.putMany(segments);
    if (run === null) return;
    const { node, clock, random } = this.#parts;
    const writer = new KeyRunWriter(runs.collections, { id: `${node}.${random.uuid()}`, node, level: 0 });
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
