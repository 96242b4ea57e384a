import { isTrue } from './expressions.ts';
import type { Left } from './interpreter.ts';
import { type JsonMap, listOr, mapOr, memberOf, numberOr, type State, type Transition, textOr } from './manifest.ts';

interface Ending {
  readonly state: State;
  readonly name: string;
  readonly left: Left;
  /** Includes the state's own output. */
  readonly scope: JsonMap;
}

const YES = ['yes', 'approve', 'approved', 'true'];
const NO = ['no', 'reject', 'rejected', 'false'];

/** The table "Conditions" of the document. */
export function conditionHolds(transition: Transition, { state, name, left, scope }: Ending): boolean {
  const { entry, error } = left;
  const output = mapOr(entry.output);
  const threshold = numberOr(transition.threshold, 0);
  switch (transition.condition) {
    case undefined:
    case 'always':
      return true;
    case 'on_success':
      return error === null;
    case 'on_failure':
      return error !== null;
    case 'exit_code_zero':
      return output.exit_code === 0;
    case 'exit_code_non_zero':
      return output.exit_code !== 0 && output.exit_code !== undefined;
    case 'exit_code':
      return output.exit_code !== undefined && String(output.exit_code) === transition.value;
    case 'score_above':
      return numberOr(entry.score, 0) > threshold;
    case 'score_below':
      return numberOr(entry.score, 0) < threshold;
    case 'score_between':
      return (
        numberOr(entry.score, 0) >= numberOr(transition.min, 0) &&
        numberOr(entry.score, 0) <= numberOr(transition.max, 1)
      );
    case 'confidence_above':
      return numberOr(entry.confidence, 0) > threshold;
    case 'consensus':
    case 'all_approved':
    case 'any_rejected':
      return panelHolds(transition, state, entry);
    case 'input_equals':
      return entry.output === transition.value;
    case 'input_equals_yes':
      return YES.includes(textOr(entry.output, '').toLowerCase());
    case 'input_equals_no':
      return NO.includes(textOr(entry.output, '').toLowerCase());
    case 'custom':
      return isTrue(textOr(transition.expression, ''), scope, name);
    default:
      throw new Error(`no condition ${String(transition.condition)}`);
  }
}

/** A judge without a verdict has neither approved nor rejected. */
function panelHolds(transition: Transition, state: State, entry: JsonMap): boolean {
  const rule = mapOr(state.consensus);
  const scores = listOr(entry.individual_results).map((result) => numberOr(memberOf(result, 'score'), 0));
  const limit = numberOr(rule.threshold, 0.7);
  if (transition.condition === 'all_approved') return scores.length > 0 && scores.every((score) => score >= limit);
  if (transition.condition === 'any_rejected') return scores.some((score) => score < limit);
  const { score, confidence } = mapOr(entry.consensus);
  if (typeof score !== 'number' || typeof confidence !== 'number') return false;
  const agreement = numberOr(
    transition.agreement,
    numberOr(rule.min_agreement_confidence, numberOr(rule.agreement, 0)),
  );
  return score >= numberOr(transition.threshold, limit) && confidence >= agreement;
}
