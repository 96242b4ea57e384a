import type { StateOf, StateSpec } from '../schema.ts';
import type { ConditionName, Transition } from '../transition.ts';
import { builtInCommand } from './built-in.ts';
import { isUnconditional } from './live-transitions.ts';
import { unmatchedScore } from './score-coverage.ts';

/** Outcomes of a state for which no transition is sure to match, in words that follow "when"; failures are none if it may fail. */
export function uncoveredOutcomes(state: StateSpec, { mayFail = false } = {}): string[] {
  const { transitions } = state;
  if (transitions.length === 0 || transitions.some(isUnconditional)) return [];
  const has = (...names: readonly ConditionName[]): boolean =>
    transitions.some(({ condition }) => names.includes(condition));
  return [successGap(state, has), mayFail ? null : failureGap(state, has)].filter((gap) => gap !== null);
}

type Has = (...names: readonly ConditionName[]) => boolean;

function successGap(state: StateSpec, has: Has): string | null {
  switch (state.kind) {
    case 'Agent':
      if (has('on_success')) return null;
      if (!has('score_above', 'score_below', 'score_between')) return 'the agent succeeds';
      return unmatchedScore(state.transitions);
    case 'System':
    case 'ContainerRun':
      return has('on_success', 'exit_code_zero') || hasValue(state.transitions, 'exit_code', '0')
        ? null
        : 'the exit code is 0';
    case 'Human':
      return answerGap(state.transitions, has);
    case 'ParallelAgents':
      return panelGap(state, has);
    case 'ParallelContainerRun':
      return has('on_success') ? null : 'the steps succeed';
    case 'Subworkflow':
      return has('on_success') ? null : 'the child succeeds';
  }
}

/** What the approval routes can answer; free texts of the signal route are the author's own affair. */
function answerGap(transitions: readonly Transition[], has: Has): string | null {
  if (!has('input_equals_yes') && !hasValue(transitions, 'input_equals', 'approved')) return 'the answer is approved';
  if (!has('input_equals_no') && !hasValue(transitions, 'input_equals', 'rejected')) return 'the answer is rejected';
  return null;
}

/** `all_approved` wants a verdict of every judge; without one of them neither it nor `any_rejected` matches. */
function panelGap(state: StateOf<'ParallelAgents'>, has: Has): string | null {
  if (!has('any_rejected')) return has('all_approved') ? 'a judge rejects' : 'the consensus is not reached';
  if (state.transitions.some((one) => agreesWith(state, one))) return null;
  if (!has('all_approved')) return 'no judge rejects';
  return state.consensus.min_judges_required >= state.agents.length
    ? null
    : 'a judge gives no verdict and none rejects';
}

/** When no judge is below the state's threshold, the consensus is at least that. */
const agreesWith = ({ consensus }: StateOf<'ParallelAgents'>, transition: Transition): boolean =>
  transition.condition === 'consensus' &&
  (transition.threshold ?? 0) <= consensus.threshold &&
  transition.agreement === undefined &&
  consensus.min_agreement_confidence === undefined;

const hasValue = (transitions: readonly Transition[], condition: ConditionName, value: string): boolean =>
  transitions.some((one) => one.condition === condition && one.value === value);

function failureGap(state: StateSpec, has: Has): string | null {
  if (has('on_failure')) return null;
  switch (state.kind) {
    case 'Agent':
      return 'the agent fails or takes too long';
    case 'System':
      return builtInCommand(state) !== null || has('exit_code_non_zero') ? null : 'the command fails';
    case 'ContainerRun':
      return has('exit_code_non_zero') ? null : 'the container fails';
    case 'Human':
      return state.timeout_ms === null || state.default_response !== undefined ? null : 'nobody answers in time';
    case 'ParallelAgents':
      return 'too few judges complete';
    case 'ParallelContainerRun':
      return state.completion === 'best_effort' ? null : 'the steps fail';
    case 'Subworkflow':
      return state.mode === 'fire_and_forget' ? 'the child cannot be started' : 'the child fails';
  }
}
