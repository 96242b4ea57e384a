import type { Collection, Documents } from '../documents.ts';
import { DEAD_LETTERS, type DeadLetter, deadLettersOf, LEDGER, type LedgerSegment, ledgerSegments } from './ledger.ts';
import { packLines } from './ledger-text.ts';
import type { ProjectedCommit } from './projected-commit.ts';

/** Bodies whose lines are made in one go: some milliseconds of the thread of turns. */
const STRETCH_CHARS = 256_000;

/** Commits of one log, oldest first. */
export type LedgerPart = readonly ProjectedCommit[];

async function packed(segment: LedgerSegment): Promise<LedgerSegment> {
  const lines = await packLines(segment.lines);
  return { ...segment, lines, bytes: lines.length };
}

/** Writes deliveries and dead letters into documents (design R3); the same commits again write the same again. */
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
    if (this.#segments !== null) {
      for (const stretch of stretchesOf(parts)) {
        const segments = stretch.flatMap((commits) => ledgerSegments(commits));
        if (segments.length > 0) await this.#segments.putMany(await Promise.all(segments.map(packed)));
      }
    }
    const letters = parts.flatMap((commits) => deadLettersOf(commits));
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }
}

/** Cuts commits into stretches of so many characters, at least one commit each, in order. */
function* stretchesOf(parts: readonly LedgerPart[]): Generator<readonly LedgerPart[]> {
  let stretch: LedgerPart[] = [];
  let chars = 0;
  for (const commits of parts) {
    let from = 0;
    for (const [index, { entries }] of commits.entries()) {
      for (const { body } of entries) chars += body.length;
      if (chars < STRETCH_CHARS) continue;
      yield [...stretch, commits.slice(from, index + 1)];
      [stretch, chars, from] = [[], 0, index + 1];
    }
    if (from < commits.length) stretch.push(commits.slice(from));
  }
  if (stretch.length > 0) yield stretch;
}
