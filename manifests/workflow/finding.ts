import type { Problem } from '../problem.ts';

/** A finding of the manifest checker: a warning never refuses a deploy (decided.md). */
export interface Finding extends Problem {
  /** Stable id such as `unreachable_state`. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  /** What to write instead. */
  readonly cure: string;
}
