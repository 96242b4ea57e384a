import type { StateSpec } from '../schema.ts';
import type { Transition } from '../transition.ts';
import type { Subject } from './subject.ts';

/** One place where a rule is broken. */
export interface Hit {
  /** In the document as written. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Better than the rule's own, when more is known here. */
  readonly cure?: string;
}

/** One thing the checker looks for. All are warnings: what spec 3 forbids is refused by the schema. */
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

/** It matches whatever the state gave. */
export const isUnconditional = ({ condition, expression }: Transition): boolean =>
  condition === 'always' || (condition === 'custom' && expression?.trim() === 'true');

/** Those that are ever evaluated: up to the first unconditional one. */
export function liveTransitions({ transitions }: StateSpec): readonly Transition[] {
  const last = transitions.findIndex(isUnconditional);
  return last === -1 ? transitions : transitions.slice(0, last + 1);
}
