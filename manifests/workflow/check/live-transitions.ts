import type { StateSpec } from '../schema.ts';
import type { Transition } from '../transition.ts';

/** It matches whatever the state gave. */
export const isUnconditional = ({ condition, expression }: Transition): boolean =>
  condition === 'always' || (condition === 'custom' && expression?.trim() === 'true');

/** Those that are ever evaluated: up to the first unconditional one. */
export function liveTransitions({ transitions }: StateSpec): readonly Transition[] {
  const last = transitions.findIndex(isUnconditional);
  return last === -1 ? transitions : transitions.slice(0, last + 1);
}
