import { evaluateExpression } from '../../manifests/expression/evaluate.ts';
import type { Found } from '../../manifests/template/tree.ts';
import type { StateSpec } from '../../manifests/workflow/schema.ts';
import type { Transition } from '../../manifests/workflow/transition.ts';
import { isJsonObject, type Json, type JsonObject } from '../../runtime/json.ts';
import { hasRules } from '../run-rules.ts';
import { own } from './json-values.ts';
import { scopeOf } from './scope.ts';
import type { IdleWorkflow } from './state.ts';
import { failureOf, type StepError } from './steps/step.ts';

export interface Choice {
  /** The first that matches; null when none does. */
  readonly transition: Transition | null;
  /** Expressions that could not be evaluated; they did not match. */
  readonly problems: readonly ExpressionProblem[];
  /** The values that the expression of each tried transition read, by the path as written. */
  readonly reads: readonly ReadonlyMap<string, Found>[];
}

interface ExpressionProblem extends StepError {
  /** Number of the transition. */
  readonly transition: number;
}

/** Paths that are kept of one expression; a template in it may read thousands. */
const MOST_READS = 10;

/** Tries the transitions of the ended state in order; `record` is its entry on the blackboard. */
export function chooseTransition(run: IdleWorkflow, step: StateSpec, record: JsonObject): Choice {
  const problems: ExpressionProblem[] = [];
  const reads: Map<string, Found>[] = [];
  for (const [index, transition] of step.transitions.entries()) {
    const read = new Map<string, Found>();
    reads.push(read);
    const matched =
      transition.condition === 'custom'
        ? evaluate(run, transition.expression ?? '', read, (error) => problems.push({ transition: index, ...error }))
        : matches(transition, step, record);
    if (matched) return { transition, problems, reads };
  }
  return { transition: null, problems, reads };
}

function evaluate(
  run: IdleWorkflow,
  expression: string,
  read: Map<string, Found>,
  onProblem: (error: StepError) => void,
): boolean {
  try {
    return evaluateExpression(expression, scopeOf(run), {
      state: run.current_state ?? '',
      jsonTexts: hasRules(run, 1),
      onRead: (path, found) => {
        if (read.size < MOST_READS) read.set(path, found);
      },
    });
  } catch (thrown) {
    const { error } = failureOf(thrown);
    if (error !== null) onProblem(error);
    return false;
  }
}

/**
 * One condition (W15). A condition on a value that the state lacks (a score after a failure, the exit code of a command that
 * did not start) does not match.
 */
export function matches(transition: Transition, step: StateSpec, record: JsonObject): boolean {
  const success = record.status === 'success';
  switch (transition.condition) {
    case 'always':
      return true;
    case 'on_success':
      return success;
    case 'on_failure':
      return !success;
    case 'exit_code_zero':
    case 'exit_code_non_zero':
    case 'exit_code':
      return exitCodeMatches(transition, record);
    case 'score_above':
    case 'score_below':
    case 'score_between':
    case 'confidence_above':
      return success && scoreMatches(transition, record);
    case 'consensus':
    case 'all_approved':
    case 'any_rejected':
      return success && step.kind === 'ParallelAgents' && panelMatches(transition, step, record);
    case 'input_equals':
    case 'input_equals_yes':
    case 'input_equals_no':
      return success && step.kind === 'Human' && inputMatches(transition, record.output);
    case 'custom':
      return false;
  }
}

function exitCodeMatches({ condition, value }: Transition, record: JsonObject): boolean {
  const code = isJsonObject(record.output) ? own(record.output, 'exit_code') : undefined;
  // Null: ended by a signal, which counts as non-zero.
  if (code !== null && typeof code !== 'number') return false;
  if (condition === 'exit_code_zero') return code === 0;
  if (condition === 'exit_code_non_zero') return code !== 0;
  return String(code) === value;
}

function scoreMatches({ condition, threshold = 0, min = 0, max = 1 }: Transition, record: JsonObject): boolean {
  const { score, confidence } = record;
  if (condition === 'confidence_above') return typeof confidence === 'number' && confidence > threshold;
  if (typeof score !== 'number') return false;
  if (condition === 'score_above') return score > threshold;
  if (condition === 'score_below') return score < threshold;
  return min <= score && score <= max;
}

type Panel = Extract<StateSpec, { kind: 'ParallelAgents' }>;

function panelMatches({ condition, threshold, agreement }: Transition, step: Panel, record: JsonObject): boolean {
  const rule = step.consensus;
  if (condition === 'consensus') {
    const { consensus } = record;
    if (!isJsonObject(consensus)) return false;
    const least = agreement ?? rule.min_agreement_confidence ?? 0;
    return atLeast(consensus.score, threshold ?? rule.threshold) && atLeast(consensus.confidence, least);
  }
  const results = Array.isArray(record.individual_results) ? record.individual_results : [];
  const approved = results.filter((result) => isJsonObject(result) && atLeast(result.score, rule.threshold)).length;
  // A judge without a verdict has neither approved nor rejected.
  return condition === 'all_approved' ? approved === step.agents.length : approved < results.length;
}

const atLeast = (value: Json | undefined, least: number): boolean => typeof value === 'number' && value >= least;

function inputMatches({ condition, value }: Transition, payload: Json | undefined): boolean {
  if (typeof payload !== 'string') return false;
  if (condition === 'input_equals_yes') return isYes(payload);
  return condition === 'input_equals_no' ? isNo(payload) : payload === value;
}

const YES: ReadonlySet<string> = new Set(['yes', 'approve', 'approved', 'true']);

const NO: ReadonlySet<string> = new Set(['no', 'reject', 'rejected', 'false']);

const normalised = (payload: string): string => payload.trim().toLowerCase();

/** Answers that `input_equals_yes` matches (W15). */
export const isYes = (payload: string): boolean => YES.has(normalised(payload));

/** Answers that `input_equals_no` matches. */
const isNo = (payload: string): boolean => NO.has(normalised(payload));
