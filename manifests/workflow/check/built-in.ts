import type { StateSpec } from '../schema.ts';

const BUILT_IN = ['update_context', 'update_blackboard', 'finalize'] as const;
export type BuiltInCommand = (typeof BUILT_IN)[number];

/** The built-in command of a System state, which runs without a shell (decided.md); null for all else. */
export function builtInCommand(state: StateSpec): BuiltInCommand | null {
  if (state.kind !== 'System') return null;
  const command = state.command.trim();
  return BUILT_IN.find((name) => name === command) ?? null;
}

/** The state completes the execution: it has no transitions, or it is `finalize`. */
export const endsExecution = (state: StateSpec): boolean =>
  state.transitions.length === 0 || builtInCommand(state) === 'finalize';
