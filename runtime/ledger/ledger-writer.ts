import type { Clock } from '../clock.ts';
import type { Collection, Documents } from '../documents.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { Random } from '../random.ts';
import { type KeyRun, KeyRunWriter, RoundKeys } from './key-run.ts';
import type { KeyRuns } from './key-runs.ts';
import {
  type CollectedSegment,
  DEAD_LETTERS,
  type DeadLetter,
  deadLettersOf,
  LEDGER,
  type LedgerSegment,
  LedgerSegments,
  packLines,
} from './segments.ts';

/** Characters of message bodies that are encoded in one go: some milliseconds of the main thread. */
const STRETCH_CHARS = 256_000;
/** Characters of lines that are collected before they are written. More gives fewer and larger segments. */
const GATHERED_CHARS = 8_000_000;

/** Commits of one log, oldest first. */
export type LedgerPart = readonly ProjectedCommit[];

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
    const letters = parts.flatMap((commits) => deadLettersOf(commits));
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }

  async #writeSegments(keys: KeyRuns, parts: readonly LedgerPart[]): Promise<void> {
    const segments = new LedgerSegments();
    const round = { number: await this.#nextRound(keys), keys: new RoundKeys() };
    let stretch = 0;
    for (const commits of parts) {
      for (const commit of commits) {
        segments.add(commit);
        if (segments.chars >= GATHERED_CHARS) await this.#put(keys, segments.take(), round);
        for (const { body } of commit.entries) stretch += body.length;
        if (stretch < STRETCH_CHARS) continue;
        stretch = 0;
        await turnsFirst();
      }
    }
    await this.#put(keys, segments.take(), round);
    await this.#putKeys(keys, round);
  }

  /** Writes segments in groups of limited size, and the keys when they are many. */
  async #put(keys: KeyRuns, collected: readonly CollectedSegment[], round: Round): Promise<void> {
    let some: LedgerSegment[] = [];
    let chars = 0;
    const flush = async (): Promise<void> => {
      if (some.length > 0) await this.#segments.putMany(await Promise.all(some.map(packed)));
      [some, chars] = [[], 0];
    };
    for (const { segment, hashes } of collected) {
      if (chars + segment.lines.length > STRETCH_CHARS) await flush();
      some.push(segment);
      chars += segment.lines.length;
      const { tenant, id, last, from_at: from, to_at: to } = segment;
      round.keys.add({ tenant, id, last, from, to, writer: this.#parts.node, round: round.number }, hashes);
      if (!round.keys.isFull) continue;
      await flush();
      await this.#putKeys(keys, round);
    }
    await flush();
  }

  async #putKeys(keys: KeyRuns, round: Round): Promise<void> {
    if (round.keys.isEmpty) return;
    const { node, clock, random } = this.#parts;
    const writer = new KeyRunWriter(keys.collections, { id: `${node}.${random.uuid()}`, node, level: 0 });
    await round.keys.writeTo(writer);
    const head = await writer.finish(clock.now(), []);
    if (head !== null) keys.add(head);
    round.keys = new RoundKeys();
    round.number = await this.#nextRound(keys);
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

/** The round that is being written. */
interface Round {
  number: number;
  keys: RoundKeys;
}

/** Lets turns and calls use the thread in between. */
const turnsFirst = (): Promise<void> => new Promise((resume) => void setImmediate(resume));
