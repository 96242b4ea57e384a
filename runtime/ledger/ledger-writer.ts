import type { SharedLog } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Collection, Documents } from '../documents.ts';
import { turnsFirst } from '../kit/waits.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { Random } from '../random.ts';
import { type KeyRun, KeyRunWriter, RoundKeys } from './key-run.ts';
import type { KeyRuns } from './key-runs.ts';
import { packLines } from './packing.ts';
import {
  DEAD_LETTERS,
  type DeadLetter,
  deadLettersOf,
  LEDGER,
  type LedgerSegment,
  LedgerSegments,
} from './segments.ts';

/** Characters of message bodies that are encoded in one go: some milliseconds of the main thread. */
const STRETCH_CHARS = 256_000;
/** Characters of lines that are collected before they are written. More gives fewer and larger segments. */
const GATHERED_CHARS = 8_000_000;

/** Commits of one log, oldest first. */
export interface LedgerPart {
  /** Null: each partition has a log of its own. */
  readonly sharedLog: SharedLog | null;
  readonly commits: readonly ProjectedCommit[];
}

async function packed(segment: LedgerSegment): Promise<LedgerSegment> {
  const lines = await packLines(segment.lines);
  return { ...segment, lines, bytes: lines.length };
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

  async #writeSegments(runs: KeyRuns, parts: readonly LedgerPart[]): Promise<void> {
    const keys = new RoundKeys(this.#parts.node, await this.#nextRound(runs));
    const segments = new LedgerSegments(keys);
    let stretch = 0;
    for (const { sharedLog, commits } of parts) {
      segments.begin(sharedLog);
      for (const commit of commits) {
        segments.add(commit);
        if (segments.chars >= GATHERED_CHARS || keys.isFull) {
          await this.#put(segments.take());
          if (keys.isFull) await this.#putKeys(runs, keys);
        }
        for (const { body } of commit.entries) stretch += body.length;
        if (stretch < STRETCH_CHARS) continue;
        stretch = 0;
        await turnsFirst();
      }
    }
    await this.#put(segments.take());
    await this.#putKeys(runs, keys);
  }

  /** Writes segments in groups of limited size. */
  async #put(segments: readonly LedgerSegment[]): Promise<void> {
    let some: LedgerSegment[] = [];
    let chars = 0;
    for (const segment of segments) {
      if (some.length > 0 && chars + segment.lines.length > STRETCH_CHARS) {
        await this.#segments.putMany(await Promise.all(some.map(packed)));
        [some, chars] = [[], 0];
      }
      some.push(segment);
      chars += segment.lines.length;
    }
    if (some.length > 0) await this.#segments.putMany(await Promise.all(some.map(packed)));
  }

  async #putKeys(runs: KeyRuns, keys: RoundKeys): Promise<void> {
    if (keys.isEmpty) return;
    const { node, clock, random } = this.#parts;
    const writer = new KeyRunWriter(runs.collections, { id: `${node}.${random.uuid()}`, node, level: 0 });
    const run = await keys.writeTo(writer, clock.now(), await this.#nextRound(runs));
    if (run !== null) runs.add(run);
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
