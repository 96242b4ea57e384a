import type { Subject } from './flow.ts';

/** One violation of a rule. */
export interface Hit {
  /** Path in the document as written. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** A more precise cure than the rule's own. */
  readonly cure?: string;
}

/**
 * A rule of the checker. The schema refuses violations of the format (W20); a rule is an error where a state or a transition
 * can never work as written, otherwise a warning.
 */
export interface Rule {
  readonly id: string;
  /** Default: a warning. */
  readonly severity?: 'error';
  readonly cure: string;
  check(subject: Subject): Iterable<Hit>;
}

export const statePath = (state: string, ...rest: readonly PropertyKey[]): readonly PropertyKey[] => [
  'spec',
  'states',
  state,
  ...rest,
];

/** A name in a message: quoted and shortened. */
export const quoted = (name: string): string => JSON.stringify(name.slice(0, 60));
