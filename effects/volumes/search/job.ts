import { z } from 'zod';

/** Bounds of a search. At a bound it ends with the results so far. */
export const SearchBounds = z.object({
  /** Number of results. */
  found: z.number().int().min(1),
  /** Total bytes of the results. */
  found_bytes: z.number().int().min(1),
  /** Number of visited entries. */
  entries: z.number().int().min(1),
  /** Larger files are skipped. */
  file_bytes: z.number().int().min(1),
  time_ms: z.number().int().min(1),
});

export type SearchBounds = z.output<typeof SearchBounds>;

const common = {
  /** Path of the start directory, open in this process (tree.ts, `OpenDirectory.self`). */
  at: z.string(),
  /** Whether that is the volume's root, in which uploads are hidden. */
  is_root: z.boolean(),
  /** Maximum depth below the start directory. */
  depth: z.number().int().min(0),
  bounds: SearchBounds,
};

export const SearchJob = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('glob'),
    pattern: z.string(),
    /** Prefix of all paths for the pattern: '' or a path that ends with a slash. */
    under: z.string(),
    ...common,
  }),
  z.object({
    kind: z.literal('grep'),
    pattern: z.string(),
    /** Searches only this file of the directory. */
    only: z.string().nullable(),
    ...common,
  }),
]);

export type SearchJob = z.output<typeof SearchJob>;

const outcome = {
  /** The bound that ended it early; null: complete. */
  ended_by: z.enum(['found', 'entries', 'time']).nullable(),
  entries: z.number(),
};

export const GlobFound = z.object({ kind: z.literal('glob'), paths: z.array(z.string()), ...outcome });

export type GlobFound = z.output<typeof GlobFound>;

export const GrepFound = z.object({
  kind: z.literal('grep'),
  matches: z.array(z.object({ path: z.string(), line: z.number(), text: z.string() })),
  files: z.number(),
  bytes: z.number(),
  /** Binary, too large or unreadable files. */
  skipped: z.number(),
  ...outcome,
});

export type GrepFound = z.output<typeof GrepFound>;

export const SearchAnswer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), found: z.discriminatedUnion('kind', [GlobFound, GrepFound]) }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
]);

export type SearchAnswer = z.output<typeof SearchAnswer>;

const CHECK_TIME_EVERY = 64;

/** The remaining budget of a search. `spent` is the bound that is used up. */
export class Budget {
  readonly #bounds: SearchBounds;
  readonly #endsAt: number;
  #found = 0;
  #foundBytes = 0;
  #ticks = 0;
  entries = 0;
  spent: 'found' | 'entries' | 'time' | null = null;

  constructor(bounds: SearchBounds) {
    this.#bounds = bounds;
    this.#endsAt = performance.now() + bounds.time_ms;
  }

  /** Counts an entry. False: the search must end. */
  entry(): boolean {
    if (this.entries >= this.#bounds.entries) this.spent ??= 'entries';
    else this.entries += 1;
    return this.going();
  }

  /** Counts a result of this size. False: it exceeds a bound. */
  result(bytes: number): boolean {
    if (this.#found >= this.#bounds.found || this.#foundBytes + bytes > this.#bounds.found_bytes) {
      this.spent ??= 'found';
      return false;
    }
    this.#found += 1;
    this.#foundBytes += bytes;
    return true;
  }

  going(): boolean {
    this.#ticks += 1;
    if (this.#ticks % CHECK_TIME_EVERY === 0 && performance.now() > this.#endsAt) this.spent ??= 'time';
    return this.spent === null;
  }
}
