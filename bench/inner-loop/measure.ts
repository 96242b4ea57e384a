import type { LoadPlan, Measured } from '../load.ts';
import type { Variant } from './agent.ts';
import type { CommitBytes } from './commit-bytes.ts';

/** A request to a node of the suite. `sizes`: one run, its bytes instead of its times. */
export type LoopQuestion =
  | { readonly sizes: true }
  | { readonly way: 'durable' | 'plain'; readonly variant: Variant; readonly plan: LoadPlan };

/** Sorted, milliseconds. */
export interface LoopAnswer {
  /** Whole loops. */
  readonly measured: Measured;
  readonly calls: readonly number[];
  readonly tools: readonly number[];
  readonly models: readonly number[];
  readonly toModel: readonly number[];
  readonly toTool: readonly number[];
}

export interface LoopSizes {
  readonly commits: CommitBytes;
  /** Characters of the grant in the state. */
  readonly grant: number;
  /** Characters of the inputs of effects, one by one. */
  readonly models: readonly number[];
  readonly tools: readonly number[];
}

export const middleOf = (sorted: readonly number[], part = 0.5): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
