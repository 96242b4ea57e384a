import type { MailboxEntry } from '../actor-store.ts';
import type { Batch } from '../turns/batch.ts';
import type { PackedBatch } from '../turns/pack-commit.ts';
import { changedBy } from './commit-turns.ts';
import type { BatchRun, InFlight } from './run-batch.ts';

type Entries = readonly MailboxEntry[];

/** A batch whose turns have run. */
export interface Begun {
  readonly run: BatchRun;
  readonly batch: Batch;
}

/** A batch that only has to be written. */
export interface Packed extends Begun {
  readonly packed: PackedBatch;
}

export interface PipelineSteps {
  /**
   * Runs the turns of entries and encodes what they decided; without `packed` when the rest has to be done while no commit is
   * in flight. Null: the entries have to be handled alone. It never rejects.
   */
  readonly prepare: (
    entries: Entries,
    inFlight: InFlight,
  ) => Promise<Packed | (Begun & { readonly packed: null }) | null>;
  /** Writes it; answers the entries behind those `atHand`, null when nothing was written. It never rejects. */
  readonly commit: (prepared: Packed, atHand: Entries) => Promise<Entries | null>;
  /** Handles entries while no commit is in flight; answers those behind them. `begun`: their turns have run. */
  readonly alone: (entries: Entries, begun: Begun | null) => Promise<Entries>;
  /** What waits to be done while no commit is in flight. */
  readonly between: () => Promise<void>;
  /** Nothing is to be begun while a commit is in flight. */
  readonly mustWait: () => boolean;
  /** Nothing is to be written any more. */
  readonly isOver: () => boolean;
}

/**
 * Handles many entries by two commits, and runs the turns of the second half while the commit of the first is in flight:
 * store and process work at the same time, and who waits for the first half hears of it sooner. The second half sees the
 * actors of the first as their commit leaves them; when that is not written, its turns count for nothing. Nothing is seen
 * before its commit.
 *
 * Two halves, not a pipeline that is always full: its commits were of a dozen messages, and what a commit costs whatever its
 * size (some 250 µs of all processes) outweighed what was gained (docs/benchmarks.md).
 */
export class PipelinedCommits {
  readonly #steps: PipelineSteps;
  readonly #least: number;

  /** `least`: fewest entries that become two commits. */
  constructor(least: number, steps: PipelineSteps) {
    this.#least = Math.max(2, least);
    this.#steps = steps;
  }

  /** Whether it is worth while for entries at hand. */
  isFor(entries: Entries): boolean {
    return entries.length >= this.#least && !this.#steps.mustWait();
  }

  /** Handles entries, or some of them; answers those that wait behind what was handled. */
  async handle(entries: Entries): Promise<Entries> {
    const { prepare, commit, alone, between, isOver } = this.#steps;
    const half = Math.ceil(entries.length / 2);
    const [first, second] = [entries.slice(0, half), entries.slice(half)];
    const one = await prepare(first, () => undefined);
    if (one === null || one.packed === null) return alone(first, one);
    const [behind, two] = await Promise.all([commit(one, second), this.#prepareBehind(one, second)]);
    if (behind === null || isOver()) two?.run.forget();
    if (isOver()) return [];
    // Why it was not written is found by who handles it alone.
    if (behind === null) return alone(first, null);
    await between();
    if (two === null || two.packed === null) return alone(second, two);
    const next = await commit(two, behind);
    if (next !== null) return [...behind, ...next];
    return isOver() ? [] : alone(second, null);
  }

  /** While the commit of the first half is in flight. */
  async #prepareBehind(one: Packed, second: Entries): ReturnType<PipelineSteps['prepare']> {
    // Calls to the store go out with the end of this turn of the event loop.
    await new Promise<void>((resume) => void setImmediate(resume));
    // Whose messages are postponed is known as slow when that is written: those behind them wait as well.
    if (one.run.postponed.length > 0 || this.#steps.mustWait()) return null;
    return this.#steps.prepare(second, after(one));
  }
}

/** Actors of a batch as they are when it is written. */
function after({ batch, packed }: Packed): InFlight {
  return (address) => {
    const work = batch.writes.works.get(address);
    // One that is not in the store is loaded like any other.
    if (work === undefined || (work.resident.text === null && !packed.texts.has(address))) return undefined;
    return { ...work.resident, ...changedBy(work, packed) };
  };
}
