import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID } from './driven-workflow.ts';
import { AGENT, CHILD, CONTAINER, CONTAINERS, PANEL, SYSTEM } from './one-state.ts';

type Answer = (run: DrivenWorkflow) => unknown;

const success: Answer = (run) => run.exit(0);
const allSucceed: Answer = (run) => [...run.effects.keys()].map((id) => run.exit(0, {}, id));
const child: Answer = (run) => run.childWord({ status: 'completed', output: { a: [1, 2] } });
const consensus = { score: 0.8, confidence: 0.9, strategy: 'majority', metadata: {} };
const judged: Answer = (run) =>
  run.panelWord({ consensus, agents: [{ agent_id: 'j', output: { note: 'fine' }, weight: 1 }] });
const wrote: Answer = (run) => run.agentWord({ status: 'completed', output: 'a text', score: 0.9, iterations: 2 });

/** Every template variable that a state leaves (W17), as the next one reads it. */
const ROWS: readonly (readonly [JsonObject, Answer, string, string])[] = [
  [SYSTEM, success, '{{S.output.stdout}} {{S.output.stderr}} {{S.output.exit_code}}', 'out err 0'],
  [SYSTEM, (run) => run.exit(3), '{{S.status}} {{S.output.exit_code}}', 'failed 3'],
  [CONTAINER, success, '{{S.status}} {{S.output.stdout}} {{S.output.duration_ms}}', 'success out 7'],
  [CONTAINERS, allSucceed, '{{S.output.lint.exit_code}} {{S.output.test.stdout}}', '0 out'],
  [AGENT, wrote, '{{S.status}} {{S.output}} {{S.score}} {{S.iterations}}', 'success a text 0.9 2'],
  [PANEL, judged, '{{S.consensus.score}} {{S.consensus.confidence}}', '0.8 0.9'],
  [PANEL, judged, '{{S.agents.0.output.note}} {{json S.agents.0.output}}', 'fine {"note":"fine"}'],
  [CHILD, child, '{{S.result.a.1}} {{json S.result}}', '2 {"a":[1,2]}'],
];

for (const [state, answer, template, expected] of ROWS) {
  test(`after a state ${String(state.kind)}, ${template} is ${expected}`, () => {
    const run = new DrivenWorkflow();
    run.start(manifestOf({ S: { ...state, transitions: [{ target: 'READ' }] }, READ: pure(template) }));
    answer(run);
    assert.equal(run.blackboard.ran, expected);
  });
}

test('a state reads the id of the child that it started', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ S: { ...CHILD, transitions: [{ target: 'READ' }] }, READ: pure('{{S.child_execution_id}}') }));
  const id = run.awaitedId;
  child(run);
  assert.equal(run.blackboard.ran, id);
});

for (const [template, expected] of [
  ['{{intent}}', 'ship it'],
  ['{{input.who}}', 'ann'],
  ['{{workflow.name}} {{workflow.version}}', 'release 1.2.0'],
  ['{{workflow.context.region}}', 'eu'],
  ['{{blackboard.region}} {{blackboard.mine}}', 'eu 7'],
  ['{{execution.id}}', RUN_ID],
  ['{{workflow.storage.workspace}}', RUN_ID],
  ['[{{state.feedback}}]', '[]'],
  ['{{default human.feedback "none yet"}}', 'none yet'],
] as const) {
  test(`${template} is ${expected} from the first state on`, () => {
    const run = new DrivenWorkflow();
    const manifest = manifestOf({ A: pure(template) }, { spec: { context: { region: 'eu' } } });
    run.start(manifest, { intent: 'ship it', blackboard: { mine: 7 } });
    assert.equal(run.blackboard.ran, expected);
  });
}

test('names of states, and words of the language, reach no prototype', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('{{constructor.name}} {{blackboard.toString}} {{A.hasOwnProperty}}') }));
  assert.doesNotMatch(String(run.blackboard.ran), /function|Object\b/);
});

test('a state is seen under its name only once it was entered, and a later visit replaces its output', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf({
      A: { ...SYSTEM, transitions: [{ condition: 'on_failure', target: 'A' }, { target: 'B' }] },
      B: pure('{{A.output.stdout}}'),
    }),
  );
  run.exit(1, { stdout: 'first' });
  run.exit(0, { stdout: 'second' });
  assert.equal(run.blackboard.ran, 'second');
  assert.deepEqual(
    run.payloads('WorkflowStateEntered').map(({ state_name, visit }) => [state_name, visit]),
    [
      ['A', 1],
      ['A', 2],
      ['B', 1],
    ],
  );
});
