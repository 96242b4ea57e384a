import type { Subject } from './flow.ts';

/** One place where a rule is broken. */
export interface Hit {
  /** In the document as written. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Better than the rule's own, when more is known here. */
  readonly cure?: string;
}

/** One thing the checker looks for. All are warnings: the schema refuses what the format forbids (W20). */
export interface Rule {
  readonly id: string;
  readonly cure: string;
  check(subject: Subject): Iterable<Hit>;
}

export const statePath = (state: string, ...rest: readonly PropertyKey[]): readonly PropertyKey[] => [
  'spec',
  'states',
  state,
  ...rest,
];

/** A name as it may stand in a message: quoted and short. */
export const quoted = (name: string): string => JSON.stringify(name.slice(0, 60));
