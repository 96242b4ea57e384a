import type { StateKind } from '../schema.ts';
import type { ConditionName } from '../transition.ts';
import { type Rule, statePath } from './rule.ts';

const SUCCEEDING = ['Agent', 'System', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'] as const;

/** Spec 3, Conditions; what is not here applies to every kind, `on_failure` included (decided.md). */
const APPLIES_TO: ReadonlyMap<ConditionName, readonly StateKind[]> = new Map<ConditionName, readonly StateKind[]>([
  ['on_success', SUCCEEDING],
  ['exit_code_zero', ['System', 'ContainerRun']],
  ['exit_code_non_zero', ['System', 'ContainerRun']],
  ['exit_code', ['System', 'ContainerRun']],
  ['score_above', ['Agent']],
  ['score_below', ['Agent']],
  ['score_between', ['Agent']],
  ['confidence_above', ['Agent']],
  ['consensus', ['ParallelAgents']],
  ['all_approved', ['ParallelAgents']],
  ['any_rejected', ['ParallelAgents']],
  ['input_equals', ['Human']],
  ['input_equals_yes', ['Human']],
  ['input_equals_no', ['Human']],
]);

/** What says the same for each kind. */
const INSTEAD: Readonly<Record<StateKind, string>> = {
  Agent: 'on_success, on_failure, score_above, score_below, score_between, confidence_above',
  System: 'on_success, on_failure, exit_code_zero, exit_code_non_zero, exit_code',
  Human: 'input_equals, input_equals_yes, input_equals_no, on_failure',
  ParallelAgents: 'consensus, all_approved, any_rejected, on_failure',
  ContainerRun: 'on_success, on_failure, exit_code_zero, exit_code_non_zero, exit_code',
  ParallelContainerRun: 'on_success, on_failure',
  Subworkflow: 'on_success, on_failure',
};

export const conditionDoesNotApply: Rule = {
  id: 'condition_does_not_apply',
  cure: 'Use a condition of that kind.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      for (const [index, { condition }] of state.transitions.entries()) {
        const kinds = APPLIES_TO.get(condition);
        if (kinds === undefined || kinds.includes(state.kind)) continue;
        yield {
          path: statePath(name, 'transitions', index, 'condition'),
          message: `${condition} is for ${kinds.join(', ')}; a ${state.kind} state never matches it`,
          cure: `Use one of ${INSTEAD[state.kind]}, always or custom.`,
        };
      }
  },
};
