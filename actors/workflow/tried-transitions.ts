import { type Found, isList, isMap, Missing } from '../../manifests/template/tree.ts';
import type { StateSpec } from '../../manifests/workflow/schema.ts';
import type { Transition } from '../../manifests/workflow/transition.ts';
import { isJsonObject, type Json, type JsonObject } from '../../runtime/json.ts';
import type { Choice } from './conditions.ts';
import type { TriedTransition } from './events.ts';
import { own } from './json-values.ts';

/** Limits for the texts of one transition in the event; the manifest and the blackboard have the rest. */
const MOST = { testChars: 400, pathChars: 200, valueChars: 200, errorChars: 400 } as const;

/** Characters of all tests and values of one event; the transitions after these have neither. */
const EVENT_CHARS = 16 * 1_024;

type Saw = TriedTransition['saw'][number];

/** The result of every transition of an ended state; `choice` is null where its run ends there. */
export function triedTransitions(step: StateSpec, record: JsonObject, choice: Choice | null): TriedTransition[] {
  let left = EVENT_CHARS;
  return step.transitions.map((transition, index) => {
    const { target, condition } = transition;
    const reads = choice?.reads[index];
    const result = reads === undefined ? 'not_tried' : transition === choice?.transition ? 'taken' : 'no_match';
    const test = cut(testOf(transition, step), MOST.testChars);
    const saw = reads === undefined ? [] : condition === 'custom' ? [...reads].map(sawOf) : sawIn(record, condition);
    const error = choice?.problems.find((problem) => problem.transition === index)?.message;
    left -= test.length + saw.reduce((sum, { path, value }) => sum + path.length + value.length, 0);
    return {
      target,
      condition,
      test: left < 0 ? '' : test,
      result,
      saw: left < 0 ? [] : saw,
      error: error === undefined || left < 0 ? undefined : cut(error, MOST.errorChars),
    };
  });
}

const sawOf = ([path, found]: readonly [string, Found]): Saw => ({
  path: cut(path, MOST.pathChars),
  value: valueText(found),
});

function valueText(found: Found | undefined): string {
  if (found === undefined || found instanceof Missing) return 'missing';
  if (isList(found)) return `a list of ${found.length}`;
  if (isMap(found)) return `a map of ${Object.keys(found).length}`;
  if (typeof found === 'string') return cut(JSON.stringify(found.slice(0, MOST.valueChars + 1)), MOST.valueChars);
  return String(found);
}

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`);

/** The test of a condition, written as an expression. */
function testOf(transition: Transition, step: StateSpec): string {
  const { condition, threshold = 0, min = 0, max = 1, value = '', expression = '' } = transition;
  const least = step.kind === 'ParallelAgents' ? step.consensus.threshold : 0;
  switch (condition) {
    case 'always':
      return 'true';
    case 'on_success':
      return 'status == "success"';
    case 'on_failure':
      return 'status != "success"';
    case 'exit_code_zero':
      return 'output.exit_code == 0';
    case 'exit_code_non_zero':
      return 'output.exit_code != 0';
    case 'exit_code':
      return `output.exit_code == ${value}`;
    case 'score_above':
      return `score > ${threshold}`;
    case 'score_below':
      return `score < ${threshold}`;
    case 'score_between':
      return `score >= ${min} && score <= ${max}`;
    case 'confidence_above':
      return `confidence > ${threshold}`;
    case 'consensus':
      return consensusTest(transition, step);
    case 'all_approved':
      return `every judge has a score >= ${least}`;
    case 'any_rejected':
      return `a judge has a score < ${least}`;
    case 'input_equals':
      return `output == ${JSON.stringify(value)}`;
    case 'input_equals_yes':
      return 'output is yes, approve, approved or true';
    case 'input_equals_no':
      return 'output is no, reject, rejected or false';
    case 'custom':
      return expression;
  }
}

function consensusTest({ threshold, agreement }: Transition, step: StateSpec): string {
  if (step.kind !== 'ParallelAgents') return 'a panel of judges agrees';
  const { threshold: least, min_agreement_confidence: confidence = 0 } = step.consensus;
  return `consensus.score >= ${threshold ?? least} && consensus.confidence >= ${agreement ?? confidence}`;
}

/** Paths of the state's entry on the blackboard that a condition reads, besides the status, which all but one need. */
const READS: Readonly<Record<string, readonly string[]>> = {
  always: [],
  exit_code_zero: ['output.exit_code'],
  exit_code_non_zero: ['output.exit_code'],
  exit_code: ['output.exit_code'],
  score_above: ['status', 'score'],
  score_below: ['status', 'score'],
  score_between: ['status', 'score'],
  confidence_above: ['status', 'confidence'],
  consensus: ['status', 'consensus.score', 'consensus.confidence'],
  input_equals: ['status', 'output'],
  input_equals_yes: ['status', 'output'],
  input_equals_no: ['status', 'output'],
};

function sawIn(record: JsonObject, condition: Transition['condition']): Saw[] {
  if (condition === 'all_approved' || condition === 'any_rejected')
    return [...at(record, ['status']), ...scores(record)];
  return at(record, READS[condition] ?? ['status']);
}

const at = (record: JsonObject, paths: readonly string[]): Saw[] =>
  paths.map((path) => ({ path, value: valueText(memberAt(record, path.split('.'))) }));

function memberAt(record: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = record;
  for (const part of path) value = isJsonObject(value) ? own(value, part) : undefined;
  return value;
}

/** The scores of the judges, in one line. */
function scores({ individual_results: results }: JsonObject): Saw[] {
  const each = (Array.isArray(results) ? results : []).map((one) => (isJsonObject(one) ? valueText(one.score) : '–'));
  return [{ path: 'individual_results.score', value: cut(each.join(', ') || 'none', MOST.valueChars) }];
}
