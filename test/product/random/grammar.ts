import { Dice } from './dice.ts';
import type { Case, Json, JsonMap, Reply, State, Transition, Workflow } from './manifest.ts';
import { AnyState } from './states.ts';
import { beginnings, type Earlier, randomExpression, randomText } from './texts.ts';

interface GrammarOptions {
  /** Image of containers, with a shell at /bin/sh; without it workflows have no containers. */
  readonly image?: string;
}

const TRANSITIONS: Readonly<Record<string, readonly string[]>> = {
  Agent: ['on_success', 'on_failure', 'score_above', 'score_below', 'score_between', 'confidence_above'],
  System: ['on_success', 'on_failure', 'exit_code_zero', 'exit_code_non_zero', 'exit_code'],
  ContainerRun: ['on_success', 'on_failure', 'exit_code_zero', 'exit_code_non_zero', 'exit_code'],
  ParallelContainerRun: ['on_success', 'on_failure'],
  Human: ['input_equals', 'input_equals_yes', 'input_equals_no', 'on_failure'],
  ParallelAgents: ['consensus', 'all_approved', 'any_rejected', 'on_failure'],
  Subworkflow: ['on_success', 'on_failure'],
  'out of time': ['on_success', 'on_failure'],
};

/** A random workflow of the document's grammar, with everything that its run needs; it depends only on the seed. */
export function randomCase(seed: number, { image }: GrammarOptions = {}): Case {
  const dice = new Dice(seed);
  const { context, input, pairs } = beginnings(dice);
  const leaf = workflowOf(dice, { name: `leaf-${seed}`, context, image, calls: [], isChild: true });
  const branch = workflowOf(dice, { name: `branch-${seed}`, context, image, calls: [leaf.name], isChild: true });
  const calls = [leaf.name, branch.name, `missing-${seed}`];
  const workflow = workflowOf(dice, { name: `random-${seed}`, context, image, calls, isChild: false });
  const start = { intent: dice.pick(['See What Happens', 'count']), input, blackboard: pairs };
  const replies = Array.from({ length: 3 }, (): Reply => {
    return { by: dice.pick(['signal', 'approve', 'reject'] as const), text: dice.pick(['yes', 'No', 'later', 'TRUE']) };
  });
  return { seed, children: [leaf, branch], workflow, start, replies };
}

interface Plan extends GrammarOptions {
  readonly name: string;
  readonly context: JsonMap;
  /** Workflows that it may call. */
  readonly calls: readonly string[];
  readonly isChild: boolean;
}

function workflowOf(dice: Dice, plan: Plan): Workflow {
  const { name, context, image, calls, isChild } = plan;
  const shared = image === undefined ? [] : dice.some(['box', 'tub']);
  const states = new AnyState(dice, { image, shared, calls, isChild });
  const count = isChild ? dice.whole(1, 3) : dice.whole(3, 7);
  const names = Array.from({ length: count }, (_state, at) => `S${at}`);
  const ends = ['DONE', 'STOP'];
  const made: [string, State][] = [];
  const earlier: Earlier[] = [];
  for (const [at, own] of names.entries()) {
    const body = states.make(own, earlier);
    // The file of a command with a time-out is there only when the command ended in time.
    const kind = body.command === 'sleep 30' ? 'out of time' : String(body.kind);
    const known = { name: own, kind, steps: states.stepsOf(body) };
    // Its transitions read its output.
    const here = [...earlier, known];
    const later = [...names.slice(at + 1), ...ends];
    const forward = transitionsOf(dice, kind, later, here);
    const back = dice.chance(0.2) ? loopOf(dice, own, [...earlier.map((state) => state.name), own]) : null;
    if (back === null) made.push([own, stateOf(body, forward)]);
    else made.push([own, stateOf(back.body, [back.transition, ...forward])]);
    earlier.push(back === null ? known : { name: own, kind: 'System', steps: [] });
  }
  return { name, context, shared, states: Object.fromEntries([...made, ...endsOf(dice, earlier)]) };
}

const stateOf = (body: JsonMap, transitions: readonly Transition[]): State => ({
  ...body,
  kind: String(body.kind),
  transitions,
});

/** A state that counts its visits and returns to an earlier state until it has enough. */
function loopOf(
  dice: Dice,
  own: string,
  targets: readonly string[],
): { readonly body: JsonMap; readonly transition: Transition } {
  const key = `visits_${own}`;
  const env = { [key]: `{{add (default blackboard.${key} 0) 1}}`, came_with: '{{state.feedback}}' };
  const condition = 'custom';
  const expression = `{{blackboard.${key}}} < ${dice.whole(2, 3)}`;
  return {
    body: { kind: 'System', command: 'update_blackboard', env },
    transition: { condition, expression, target: dice.pick(targets), feedback: `again, {{blackboard.${key}}}` },
  };
}

function transitionsOf(
  dice: Dice,
  kind: string,
  targets: readonly string[],
  earlier: readonly Earlier[],
): Transition[] {
  const some = Array.from({ length: dice.whole(0, 2) }, (): Transition => {
    const condition = dice.chance(0.3) ? 'custom' : dice.pick(TRANSITIONS[kind] ?? ['always']);
    return {
      condition,
      ...boundsOf(dice, condition, earlier),
      target: dice.pick(targets),
      ...feedbackOf(dice, earlier),
    };
  });
  const last: Transition = {
    ...(dice.chance(0.3) ? { condition: 'always' } : {}),
    target: dice.pick(targets.slice(0, 2)),
    ...feedbackOf(dice, earlier),
  };
  return some.length === 0 || dice.chance(0.9) ? [...some, last] : some;
}

const feedbackOf = (dice: Dice, earlier: readonly Earlier[]): JsonMap =>
  dice.chance(0.4) ? { feedback: randomText(dice, earlier) } : {};

function boundsOf(dice: Dice, condition: string, earlier: readonly Earlier[]): JsonMap {
  const bounds: Readonly<Record<string, JsonMap>> = {
    score_above: { threshold: dice.pick([0.25, 0.5, 0.6, 1]) },
    score_below: { threshold: dice.pick([0.25, 0.6, 1]) },
    score_between: { min: 0.25, max: dice.pick([0.5, 0.6]) },
    confidence_above: { threshold: dice.pick([0.5, 0.8]) },
    // Not equal to possible scores: a sum of fractions may differ from them by a rounding error.
    consensus: { threshold: dice.pick([0.313, 0.613, 0.813]), ...(dice.chance(0.5) ? { agreement: 0.513 } : {}) },
    exit_code: { value: String(dice.whole(0, 3)) },
    input_equals: { value: dice.pick(['later', 'approved', 'yes']) },
    custom: { expression: randomExpression(dice, earlier) },
  };
  return bounds[condition] ?? {};
}

function endsOf(dice: Dice, earlier: readonly Earlier[]): [string, State][] {
  const text = (): Json => randomText(dice, earlier);
  const env = { place: text(), rows: '{{input.list}}', n: '{{input.n}}', more: { nested: [text()] } };
  const done: State = { kind: 'System', command: 'finalize', env, transitions: [] };
  const stop = dice.pick<JsonMap>([
    { kind: 'System', command: 'fail', env: { code: 'stopped_here', message: text() } },
    { kind: 'System', command: 'printf \'%s\' "$A"; exit 2', env: { A: text() } },
    { kind: 'System', command: 'finalize', env: {} },
  ]);
  return [
    ['DONE', done],
    ['STOP', stateOf(stop, [])],
  ];
}
