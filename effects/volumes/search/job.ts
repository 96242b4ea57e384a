import { z } from 'zod';

/** What a search may cost; beyond it ends with what it has found so far and says so. */
export const SearchBounds = z.object({
  /** Results. */
  found: z.number().int().min(1),
  /** Bytes of all results together. */
  found_bytes: z.number().int().min(1),
  /** Entries of directories that are looked at. */
  entries: z.number().int().min(1),
  /** Larger files are left out. */
  file_bytes: z.number().int().min(1),
  time_ms: z.number().int().min(1),
});

export type SearchBounds = z.output<typeof SearchBounds>;

const common = {
  /** How the system finds the directory where it begins, open in this process (tree.ts, `Place.self`). */
  at: z.string(),
  /** Whether that is the volume's root, where uploads are hidden. */
  is_root: z.boolean(),
  /** How many directories further down are reached at most. */
  depth: z.number().int().min(0),
  bounds: SearchBounds,
};

export const SearchJob = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('glob'),
    pattern: z.string(),
    /** What paths begin with as the pattern sees them: '' or a path that ends with a slash. */
    under: z.string(),
    ...common,
  }),
  z.object({
    kind: z.literal('grep'),
    pattern: z.string(),
    /** This one file of the directory alone. */
    only: z.string().nullable(),
    ...common,
  }),
]);

export type SearchJob = z.output<typeof SearchJob>;

const told = {
  /** Which bound ended it early; null: all was seen. */
  ended_by: z.enum(['found', 'entries', 'time']).nullable(),
  entries: z.number(),
};

export const GlobFound = z.object({ kind: z.literal('glob'), paths: z.array(z.string()), ...told });

export type GlobFound = z.output<typeof GlobFound>;

export const GrepFound = z.object({
  kind: z.literal('grep'),
  matches: z.array(z.object({ path: z.string(), line: z.number(), text: z.string() })),
  files: z.number(),
  bytes: z.number(),
  /** Not text, too large, or not to be read. */
  skipped: z.number(),
  ...told,
});

export type GrepFound = z.output<typeof GrepFound>;

export const SearchAnswer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), found: z.discriminatedUnion('kind', [GlobFound, GrepFound]) }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
]);

export type SearchAnswer = z.output<typeof SearchAnswer>;

const LOOK_AT_CLOCK_EVERY = 64;

/** What a search has left. `spent` names the bound that is used up. */
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

  /** One more entry is looked at. False: enough. */
  entry(): boolean {
    if (this.entries >= this.#bounds.entries) this.spent ??= 'entries';
    else this.entries += 1;
    return this.going();
  }

  /** One more result of so many bytes. False: it has no place any more. */
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
    if (this.#ticks % LOOK_AT_CLOCK_EVERY === 0 && performance.now() > this.#endsAt) this.spent ??= 'time';
    return this.spent === null;
  }
}
