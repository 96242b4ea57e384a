import type { StateKind, StateOf, StateSpec } from '../schema.ts';
import type { ConditionName, Transition } from '../transition.ts';
import { isUnconditional } from './flow.ts';
import { type Rule, statePath } from './rule.ts';
import { builtInCommand } from './texts.ts';

/** Annotation with a comma-separated list of states whose failure is meant to fail the run with their own error. */
const MAY_FAIL = 'svc.dev/may-fail';

export const transitionNotGuaranteed: Rule = {
  id: 'transition_not_guaranteed',
  cure: 'Add a last transition without a condition, or one for the missing outcome; else the execution fails there.',
  *check({ flow, manifest }) {
    const mayFail = new Set((manifest.metadata.annotations[MAY_FAIL] ?? '').split(',').map((name) => name.trim()));
    for (const [name, state] of flow.states) {
      const gaps = uncoveredOutcomes(state, { mayFail: mayFail.has(name) });
      if (gaps.length > 0)
        yield {
          path: statePath(name, 'transitions'),
          message: `no transition is sure to match when ${gaps.join(', or when ')}`,
        };
    }
  },
};

/** Outcomes of a state that may match no transition, worded to follow "when"; failures are not listed if the state may fail. */
function uncoveredOutcomes(state: StateSpec, { mayFail = false } = {}): string[] {
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
      if (builtInCommand(state) === 'fail') return null;
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

/** Answers of the approval routes; free texts of the signal route are not checked. */
function answerGap(transitions: readonly Transition[], has: Has): string | null {
  if (!has('input_equals_yes') && !hasValue(transitions, 'input_equals', 'approved')) return 'the answer is approved';
  if (!has('input_equals_no') && !hasValue(transitions, 'input_equals', 'rejected')) return 'the answer is rejected';
  return null;
}

/** `all_approved` needs a verdict of every judge; without one neither it nor `any_rejected` matches. */
function panelGap(state: StateOf<'ParallelAgents'>, has: Has): string | null {
  if (!has('any_rejected')) return has('all_approved') ? 'a judge rejects' : 'the consensus is not reached';
  if (state.transitions.some((one) => agreesWith(state, one))) return null;
  if (!has('all_approved')) return 'no judge rejects';
  return state.consensus.min_judges_required >= state.agents.length
    ? null
    : 'a judge gives no verdict and none rejects';
}

/** When no judge is below the state's threshold, the consensus is at least the threshold. */
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
      if (builtInCommand(state) === 'fail') return 'the state fails, as it always does';
      return builtInCommand(state) !== null || has('exit_code_non_zero') ? null : 'the command fails';
    case 'ContainerRun':
      return has('exit_code_non_zero') ? null : 'the container fails';
    case 'Human':
      return state.timeout_ms === null || state.default_response !== undefined ? null : 'no answer comes in time';
    case 'ParallelAgents':
      return 'too few judges complete';
    case 'ParallelContainerRun':
      return state.completion === 'best_effort' ? null : 'the steps fail';
    case 'Subworkflow':
      return state.mode === 'fire_and_forget' ? 'the child cannot be started' : 'the child fails';
  }
}

interface Interval {
  readonly from: number;
  readonly withFrom: boolean;
  readonly to: number;
  readonly withTo: boolean;
}

/** The first score from 0 to 1 that no condition matches, as text; null when all are matched. */
function unmatchedScore(transitions: readonly Transition[]): string | null {
  const intervals = transitions
    .map(intervalOf)
    .filter((one): one is Interval => one !== null)
    .sort((a, b) => a.from - b.from || Number(b.withFrom) - Number(a.withFrom));
  let reached = 0;
  let withReached = false;
  for (const { from, withFrom, to, withTo } of intervals) {
    if (from > reached || (from === reached && !withFrom && !withReached)) break;
    if (to > reached) {
      reached = to;
      withReached = withTo;
    } else if (to === reached && from <= to) withReached ||= withTo;
  }
  if (reached > 1 || (reached === 1 && withReached)) return null;
  return withReached ? `the score is above ${reached}` : `the score is ${reached}`;
}

function intervalOf({ condition, threshold = 0, min = 0, max = 1 }: Transition): Interval | null {
  if (condition === 'score_above' && threshold < 1) return { from: threshold, withFrom: false, to: 1, withTo: true };
  if (condition === 'score_below' && threshold > 0) return { from: 0, withFrom: true, to: threshold, withTo: false };
  if (condition === 'score_between' && max >= 0)
    return { from: Math.max(min, 0), withFrom: true, to: max, withTo: true };
  return null;
}

export const transitionNeverEvaluated: Rule = {
  id: 'transition_never_evaluated',
  cure: 'Transitions are tried from top to bottom: put the fallback last, and give each condition once.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      const seen = new Map<string, number>();
      const last = state.transitions.findIndex(isUnconditional);
      for (const [index, transition] of state.transitions.entries()) {
        const path = statePath(name, 'transitions', index);
        const { target: _target, feedback: _feedback, ...condition } = transition;
        const key = JSON.stringify(condition);
        const earlier = seen.get(key);
        if (builtInCommand(state) === 'finalize')
          yield {
            path,
            message: 'finalize completes the execution; this transition is never taken',
            cure: 'Write `transitions: []`.',
          };
        else if (last !== -1 && index > last)
          yield { path, message: `transition ${last} before it has no condition and always matches` };
        else if (earlier !== undefined)
          yield { path, message: `transition ${earlier} before it has the same condition` };
        else seen.set(key, index);
      }
    }
  },
};

export const conditionNeverTrue: Rule = {
  id: 'condition_never_true',
  cure: 'Scores lie from 0.0 to 1.0, and above and below are strict; exit codes are whole numbers.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      for (const [index, transition] of state.transitions.entries()) {
        const reason = reasonOf(transition);
        if (reason !== null) yield { path: statePath(name, 'transitions', index), message: reason };
      }
  },
};

function reasonOf(transition: Transition): string | null {
  const { condition, threshold, min = 0, max = 1, value = '' } = transition;
  switch (condition) {
    case 'score_above':
    case 'confidence_above':
      return threshold === 1 ? `${condition} 1 never matches: nothing is greater than 1` : null;
    case 'score_below':
      return threshold === 0 ? 'score_below 0 never matches: nothing is less than 0' : null;
    case 'score_between':
      return min > 1 || max < 0 ? `score_between ${min} and ${max} lies outside of 0 to 1` : null;
    case 'exit_code':
      return String(Number.parseInt(value, 10)) === value
        ? null
        : 'exit_code never matches: its value is not a whole number';
    default:
      return null;
  }
}

const SUCCEEDING = ['Agent', 'System', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'] as const;

/** Kinds to which a condition applies (W15); one that is not listed applies to every kind, as `on_failure` does (W19). */
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

/** The equivalent for each kind. */
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
  cure: 'Use a condition for that kind of state.',
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
