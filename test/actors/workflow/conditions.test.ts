import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { matches } from '../../../actors/workflow/conditions.ts';
import type { StateSpec } from '../../../manifests/workflow/schema.ts';
import { Transition } from '../../../manifests/workflow/transition.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, manifestOf, pure } from './driven-workflow.ts';

type Kind = StateSpec['kind'];

const PARTS: Record<Kind, JsonObject> = {
  Agent: { agent: 'writer' },
  System: { command: 'true' },
  Human: { prompt: 'Go on?' },
  ParallelAgents: {
    agents: [{ agent: 'one' }, { agent: 'two' }],
    consensus: { strategy: 'majority', threshold: 0.7, min_agreement_confidence: 0.5 },
  },
  ContainerRun: { image: 'alpine', command: ['true'] },
  ParallelContainerRun: { steps: [{ name: 'a', image: 'alpine', command: ['true'] }] },
  Subworkflow: { workflow_id: 'child' },
};

function stepOf(kind: Kind): StateSpec {
  const step = manifestOf({ S: { kind, transitions: [], ...PARTS[kind] } }).spec.states.S;
  assert.ok(step !== undefined);
  return step;
}

const ok = (rest: JsonObject = {}): JsonObject => ({ status: 'success', ...rest });
const bad = (rest: JsonObject = {}): JsonObject => ({ status: 'failed', ...rest });
const exit = (exit_code: number | null): JsonObject => ({ output: { exit_code } });
const agent = (score: number, confidence = 1): JsonObject => ok({ score, confidence });
const panel = (score: number, confidence: number, ...scores: number[]): JsonObject =>
  ok({ consensus: { score, confidence }, individual_results: scores.map((one) => ({ score: one })) });

/** Condition with its parameters, kind, what the state left, whether it matches: every condition (W15). */
const ROWS: readonly (readonly [JsonObject, Kind, JsonObject, boolean])[] = [
  [{}, 'System', ok(), true],
  [{ condition: 'always' }, 'System', bad(), true],
  ...(
    ['Agent', 'System', 'Human', 'ParallelAgents', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'] as const
  ).flatMap(
    (kind) =>
      [
        [{ condition: 'on_success' }, kind, ok(), true],
        [{ condition: 'on_success' }, kind, bad(), false],
        [{ condition: 'on_failure' }, kind, bad(), true],
        [{ condition: 'on_failure' }, kind, ok(), false],
      ] as const,
  ),
  ...(['System', 'ContainerRun'] as const).flatMap(
    (kind) =>
      [
        [{ condition: 'exit_code_zero' }, kind, ok(exit(0)), true],
        [{ condition: 'exit_code_zero' }, kind, bad(exit(1)), false],
        [{ condition: 'exit_code_zero' }, kind, bad(), false],
        [{ condition: 'exit_code_non_zero' }, kind, bad(exit(1)), true],
        [{ condition: 'exit_code_non_zero' }, kind, bad(exit(-1)), true],
        [{ condition: 'exit_code_non_zero' }, kind, bad(exit(null)), true],
        [{ condition: 'exit_code_non_zero' }, kind, ok(exit(0)), false],
        [{ condition: 'exit_code_non_zero' }, kind, bad(), false],
        [{ condition: 'exit_code', value: '3' }, kind, bad(exit(3)), true],
        [{ condition: 'exit_code', value: 3 }, kind, bad(exit(3)), true],
        [{ condition: 'exit_code', value: '3' }, kind, bad(exit(30)), false],
        [{ condition: 'exit_code', value: '03' }, kind, bad(exit(3)), false],
        [{ condition: 'exit_code', value: '0' }, kind, ok(exit(0)), true],
      ] as const,
  ),
  [{ condition: 'score_above', threshold: 0.7 }, 'Agent', agent(0.7), false],
  [{ condition: 'score_above', threshold: 0.7 }, 'Agent', agent(0.7000001), true],
  [{ condition: 'score_above', threshold: 0.7 }, 'Agent', bad({ score: 0.9 }), false],
  [{ condition: 'score_below', threshold: 0.7 }, 'Agent', agent(0.7), false],
  [{ condition: 'score_below', threshold: 0.7 }, 'Agent', agent(0.6999999), true],
  [{ condition: 'score_below', threshold: 0.7 }, 'Agent', bad({ score: 0 }), false],
  [{ condition: 'score_between', min: 0.5, max: 0.8 }, 'Agent', agent(0.5), true],
  [{ condition: 'score_between', min: 0.5, max: 0.8 }, 'Agent', agent(0.8), true],
  [{ condition: 'score_between', min: 0.5, max: 0.8 }, 'Agent', agent(0.4999999), false],
  [{ condition: 'score_between', min: 0.5, max: 0.8 }, 'Agent', agent(0.8000001), false],
  [{ condition: 'confidence_above', threshold: 0.6 }, 'Agent', agent(1, 0.6), false],
  [{ condition: 'confidence_above', threshold: 0.6 }, 'Agent', agent(0, 0.61), true],
  [{ condition: 'score_above', threshold: 0.1 }, 'System', ok(exit(0)), false],
  [{ condition: 'consensus' }, 'ParallelAgents', panel(0.7, 0.5), true],
  [{ condition: 'consensus' }, 'ParallelAgents', panel(0.69, 0.5), false],
  [{ condition: 'consensus' }, 'ParallelAgents', panel(0.7, 0.49), false],
  [{ condition: 'consensus', threshold: 0.9 }, 'ParallelAgents', panel(0.9, 0.5), true],
  [{ condition: 'consensus', threshold: 0.9 }, 'ParallelAgents', panel(0.89, 0.5), false],
  [{ condition: 'consensus', agreement: 0.8 }, 'ParallelAgents', panel(0.7, 0.8), true],
  [{ condition: 'consensus', agreement: 0.8 }, 'ParallelAgents', panel(0.7, 0.79), false],
  [{ condition: 'consensus' }, 'ParallelAgents', bad(), false],
  [{ condition: 'consensus' }, 'Agent', panel(1, 1), false],
  [{ condition: 'all_approved' }, 'ParallelAgents', panel(0, 0, 0.7, 1), true],
  [{ condition: 'all_approved' }, 'ParallelAgents', panel(0, 0, 0.69, 1), false],
  [{ condition: 'all_approved' }, 'ParallelAgents', panel(0, 0, 1), false],
  [{ condition: 'any_rejected' }, 'ParallelAgents', panel(0, 0, 0.69, 1), true],
  [{ condition: 'any_rejected' }, 'ParallelAgents', panel(0, 0, 0.7, 1), false],
  [{ condition: 'any_rejected' }, 'ParallelAgents', panel(0, 0, 1), false],
  [{ condition: 'input_equals', value: 'ship it' }, 'Human', ok({ output: 'ship it' }), true],
  [{ condition: 'input_equals', value: 'ship it' }, 'Human', ok({ output: 'Ship it' }), false],
  [{ condition: 'input_equals', value: 'ship it' }, 'Human', ok({ output: 'ship it ' }), false],
  [{ condition: 'input_equals', value: 'x' }, 'Human', bad(), false],
  ...['yes', 'approve', 'approved', 'true', ' YES\n', 'Approved'].flatMap(
    (output) =>
      [
        [{ condition: 'input_equals_yes' }, 'Human', ok({ output }), true],
        [{ condition: 'input_equals_no' }, 'Human', ok({ output }), false],
      ] as const,
  ),
  ...['no', 'reject', 'rejected', 'false', ' No ', 'REJECTED'].flatMap(
    (output) =>
      [
        [{ condition: 'input_equals_no' }, 'Human', ok({ output }), true],
        [{ condition: 'input_equals_yes' }, 'Human', ok({ output }), false],
      ] as const,
  ),
  [{ condition: 'input_equals_yes' }, 'Human', ok({ output: 'y' }), false],
  [{ condition: 'input_equals_no' }, 'Human', ok({ output: 'n' }), false],
  [{ condition: 'input_equals_yes' }, 'Agent', ok({ output: 'yes' }), false],
];

for (const [condition, kind, record, expected] of ROWS) {
  const text = `${JSON.stringify(condition)} of ${kind} with ${JSON.stringify(record)}`;
  test(`${text} ${expected ? 'matches' : 'does not match'}`, () => {
    const transition = Transition.parse({ target: 'X', ...condition });
    assert.equal(matches(transition, stepOf(kind), record), expected);
  });
}

test('the first transition that matches wins', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf({
      A: pure('a', [
        { condition: 'on_failure', target: 'B' },
        { condition: 'custom', expression: 'input.n > 2', target: 'C' },
        { condition: 'always', target: 'D' },
      ]),
      B: pure('b'),
      C: pure('c'),
      D: pure('d'),
    }),
    { input: { n: 3 } },
  );
  assert.deepEqual(run.path, ['A', 'C']);
  const [exited] = run.payloads('WorkflowStateExited');
  assert.deepEqual([exited?.next_state, exited?.condition], ['C', 'custom']);
});

for (const [expression, input, expected] of [
  ['input.n >= 3 && input.who == "ann"', { n: 3, who: 'ann' }, true],
  ['input.n < 3 || !(input.who != "ann")', { n: 3, who: 'ann' }, true],
  ['{{input.n}} <= 2', { n: 3 }, false],
  ['A.output.exit_code == 0', {}, true],
  ['A.status == "success"', {}, true],
] as const) {
  test(`custom ${expression} ${expected ? 'matches' : 'does not match'}`, () => {
    const run = new DrivenWorkflow();
    run.start(manifestOf({ A: pure('a', [{ condition: 'custom', expression, target: 'B' }]), B: pure('b') }), {
      input,
    });
    assert.equal(run.status, expected ? 'completed' : 'failed');
    if (!expected) assert.equal(run.payloads('WorkflowExecutionFailed')[0]?.reason, 'no_transition_matched');
  });
}

test('the end of a state says of each transition whether it was taken, what it asked and what it saw', () => {
  const run = new DrivenWorkflow();
  const long = 'x'.repeat(10_000);
  run.start(
    manifestOf({
      A: pure('a', [
        { condition: 'on_failure', target: 'B' },
        { condition: 'exit_code', value: 3, target: 'B' },
        { condition: 'custom', expression: 'input.n > 2 && input.never', target: 'B' },
        { condition: 'custom', expression: '(length input.list) == 3 && {{input.text}} == "y"', target: 'B' },
        { condition: 'custom', expression: 'input.nowhere == null', target: 'C' },
        { condition: 'always', target: 'D' },
      ]),
      B: pure('b'),
      C: pure('c'),
      D: pure('d'),
    }),
    { input: { n: 1, never: true, list: [1, 2, 3], text: long } },
  );
  const [exited, ended] = run.payloads('WorkflowStateExited');
  const tried = z.array(z.looseObject({ result: z.string(), saw: z.unknown() })).parse(exited?.transitions);
  assert.deepEqual(
    tried.map(({ target, result, test: asked, saw }) => [target, result, asked, saw]),
    [
      ['B', 'no_match', 'status != "success"', [{ path: 'status', value: '"success"' }]],
      ['B', 'no_match', 'output.exit_code == 3', [{ path: 'output.exit_code', value: '0' }]],
      // The right side decided nothing: it was not read.
      ['B', 'no_match', 'input.n > 2 && input.never', [{ path: 'input.n', value: '1' }]],
      [
        'B',
        'no_match',
        '(length input.list) == 3 && {{input.text}} == "y"',
        [
          { path: 'input.list', value: 'a list of 3' },
          { path: 'input.text', value: `"${long.slice(0, 199)}…` },
        ],
      ],
      ['C', 'taken', 'input.nowhere == null', [{ path: 'input.nowhere', value: 'missing' }]],
      ['D', 'not_tried', 'true', []],
    ],
  );
  assert.deepEqual(ended?.transitions, []);
});

test('an expression that cannot be evaluated says why at its transition, and many long ones stay within the event', () => {
  const run = new DrivenWorkflow();
  const [expression, many] = ['input.n ==', Array.from({ length: 99 }, () => `input.${'n'.repeat(4_000)} == 1`)];
  run.start(
    manifestOf({
      A: pure(
        'a',
        [expression, ...many].map((one) => ({ condition: 'custom', expression: one, target: 'A' })),
      ),
    }),
  );
  const [exited] = run.payloads('WorkflowStateExited');
  const [first, ...others] = z.array(z.looseObject({ error: z.string().optional() })).parse(exited?.transitions);
  assert.match(first?.error ?? '', /expression of state A/);
  assert.equal(others.length, 99);
  assert.ok(JSON.stringify(exited).length < 64 * 1_024);
});

test('a run that was started under earlier rules keeps the events of its version', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('a', [{ target: 'B' }]), B: pure('b') }), { rules: 1 });
  assert.equal(run.status, 'completed');
  assert.ok(run.payloads('WorkflowStateExited').every((payload) => payload.transitions === undefined));
});

test('a success that no transition takes fails the run and names the state', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ GATE: pure('a', [{ condition: 'on_failure', target: 'GATE' }]) }));
  const [failed] = run.payloads('WorkflowExecutionFailed');
  assert.equal(failed?.reason, 'no_transition_matched');
  assert.match(String(failed?.error), /GATE/);
});

test('an expression that cannot be evaluated does not match, and the failure of the run says so', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('a', [{ condition: 'custom', expression: 'input.n >', target: 'A' }]) }));
  const [failed] = run.payloads('WorkflowExecutionFailed');
  assert.equal(failed?.reason, 'no_transition_matched');
  assert.match(String(failed?.error), /expression of state A/);
});

test('feedback of a transition is rendered and is seen in the next state only', () => {
  const run = new DrivenWorkflow();
  const note = (target: string, feedback?: string) =>
    pure('[{{state.feedback}}]', [{ target, ...(feedback === undefined ? {} : { feedback }) }]);
  run.start(
    manifestOf({
      A: note('B', '{{A.status}}: {{input.who}}'),
      B: { ...note('C'), env: { b: '[{{state.feedback}}]' } },
      C: { ...pure(''), env: { c: '[{{state.feedback}}]' } },
    }),
  );
  const { ran, b, c } = run.blackboard;
  assert.deepEqual([ran, b, c], ['[]', '[success: ann]', '[]']);
});
