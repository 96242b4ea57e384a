import type { Collection, Documents } from '../documents.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import {
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

/** Writes deliveries and dead letters into documents (R3). Writing the same commits again writes the same documents. */
export class LedgerWriter {
  readonly #segments: Collection<LedgerSegment> | null;
  readonly #deadLetters: Collection<DeadLetter>;

  static async open(parts: { readonly documents: Documents; readonly ledger: boolean }): Promise<LedgerWriter> {
    const { documents, ledger } = parts;
    const segments = await documents.collection<LedgerSegment>(LEDGER);
    return new LedgerWriter(ledger ? segments : null, await documents.collection<DeadLetter>(DEAD_LETTERS));
  }

  /** Without `segments` deliveries are not recorded. */
  constructor(segments: Collection<LedgerSegment> | null, deadLetters: Collection<DeadLetter>) {
    this.#segments = segments;
    this.#deadLetters = deadLetters;
  }

  async write(parts: readonly LedgerPart[]): Promise<void> {
    if (this.#segments !== null) await this.#writeSegments(this.#segments, parts);
    const letters = parts.flatMap((commits) => deadLettersOf(commits));
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }

  async #writeSegments(to: Collection<LedgerSegment>, parts: readonly LedgerPart[]): Promise<void> {
    const segments = new LedgerSegments();
    let stretch = 0;
    for (const commits of parts) {
      for (const commit of commits) {
        segments.add(commit);
        if (segments.chars >= GATHERED_CHARS) await put(to, segments.take());
        for (const { body } of commit.entries) stretch += body.length;
        if (stretch < STRETCH_CHARS) continue;
        stretch = 0;
        await turnsFirst();
      }
    }
    await put(to, segments.take());
  }
}

/** Writes segments in groups of limited size. */
async function put(to: Collection<LedgerSegment>, segments: readonly LedgerSegment[]): Promise<void> {
  let some: LedgerSegment[] = [];
  let chars = 0;
  for (const segment of segments) {
    if (some.length > 0 && chars + segment.lines.length > STRETCH_CHARS) {
      await to.putMany(await Promise.all(some.map(packed)));
      [some, chars] = [[], 0];
    }
    some.push(segment);
    chars += segment.lines.length;
  }
  if (some.length > 0) await to.putMany(await Promise.all(some.map(packed)));
}

/** Lets turns and calls use the thread in between. */
const turnsFirst = (): Promise<void> => new Promise((resume) => void setImmediate(resume));
