import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sample } from '../support/size.ts';
import { randomCase } from './random/grammar.ts';
import { sendTo } from './random/node.ts';
import { checkCases, deployAgents } from './random/run-case.ts';
import { BY_STATUS, ENDS, type Execution, finalize, SpecWorkflowNode } from './spec-workflow-node.ts';

const RANDOM = sample({ normal: 12, long: 100 });
/** A normal run always has the same workflows; a long one, and `npm run workflows:random`, use other ones. */
const FIRST_SEED = sample({ normal: 9, long: randomInt(1_000_000) });

const outputOf = (execution: Execution): unknown => execution.output;

describe('a workflow run against the specification, over REST', { timeout: 300_000 }, () => {
  let setup: SpecWorkflowNode;
  before(async () => {
    setup = await SpecWorkflowNode.start();
  });
  after(() => setup[Symbol.asyncDispose]());

  test('the constants and the caller’s pairs seed the blackboard, the caller wins, and input never changes', async () => {
    const ended = await setup.run(
      {
        WRITE: {
          kind: 'System',
          command: 'update_blackboard',
          env: { who: 'state', both: '{{input.who}}-{{workflow.context.both}}' },
          transitions: [{ target: 'DONE' }],
        },
        DONE: finalize({ input: '{{input.who}}', intent: '{{intent}}', missing: '{{blackboard.nothing}}' }),
      },
      {
        spec: { context: { both: 'constant', only: 1 } },
        body: { intent: 'see', input: { who: 'caller' }, blackboard: { both: 'pair', more: [1] } },
      },
    );
    const { status, current_state, reason, input, intent } = ended;
    assert.deepEqual([status, current_state, reason, intent], ['completed', 'DONE', null, 'see']);
    assert.deepEqual(input, { who: 'caller' });
    const { WRITE: _write, DONE: _done, ...pairs } = ended.blackboard;
    assert.deepEqual(pairs, { both: 'caller-constant', only: 1, more: [1], who: 'state' });
    assert.deepEqual(outputOf(ended), {
      input: 'caller',
      intent: 'see',
      missing: '[missing: blackboard.nothing in DONE]',
    });
    assert.deepEqual(Object.keys(ended.state_outputs), ['WRITE', 'DONE']);
    for (const time of ['started_at', 'last_transition_at', 'ended_at'])
      assert.ok(!Number.isNaN(Date.parse(String(ended[time]))), time);
  });

  test('feedback of a transition is seen in the next state and not in the one behind it', async () => {
    const note = (key: string, transitions: object[]) => ({
      kind: 'System',
      command: 'update_blackboard',
      env: { [key]: 'got <{{state.feedback}}>' },
      transitions,
    });
    const { blackboard } = await setup.run({
      FIRST: note('a', [{ target: 'SECOND', feedback: '{{FIRST.status}} & {{execution.id}}' }]),
      SECOND: note('b', [{ target: 'THIRD' }]),
      THIRD: note('c', []),
    });
    assert.match(String(blackboard.b), /^got <success & [0-9a-f-]{36}>$/);
    assert.deepEqual([blackboard.a, blackboard.c], ['got <>', 'got <>']);
  });

  test('on_failure follows a failed agent, command, child or panel, and a state whose time is over', async () => {
    const failing: Readonly<Record<string, object>> = {
      model_failed: { kind: 'Agent', agent: 'writer', input: 'break' },
      not_found: { kind: 'Agent', agent: 'nobody' },
      command_failed: { kind: 'System', command: 'echo so far; exit 3' },
      'not_found ': { kind: 'Subworkflow', workflow_id: 'not-deployed' },
      too_few_judges: {
        kind: 'ParallelAgents',
        agents: [{ agent: 'writer', input: 'no-json' }],
        consensus: { strategy: 'majority' },
      },
      human_input_timeout: { kind: 'Human', prompt: 'Well?', timeout: '200ms' },
    };
    const outputOf = async ([code, state]: readonly [string, object]): Promise<unknown> => {
      const { status, output, state_outputs } = await setup.run({
        STEP: { ...state, transitions: BY_STATUS },
        ...ENDS,
      });
      assert.deepEqual([status, output], ['completed', { outcome: 'failed' }], code);
      const { STEP } = state_outputs;
      assert.equal(STEP?.status, 'failed', code);
      if (code !== 'model_failed') assert.equal(Object(STEP?.error).code, code.trim());
      if (code === 'command_failed') assert.equal(Object(STEP?.output).stdout, 'so far\n');
      return STEP?.output;
    };
    await Promise.all(Object.entries(failing).map(outputOf));
    let stdout: unknown;
    // A slow machine needs more time to begin the command.
    for (const timeout of ['2s', '8s', '30s']) {
      const late = { kind: 'System', command: 'echo so far; sleep 60', timeout };
      ({ stdout } = Object(await outputOf(['state_timed_out', late])));
      if (stdout === 'so far\n') break;
    }
    assert.equal(stdout, 'so far\n');
  });

  test('without a matching transition a run fails: with the error of its state, else no_transition_matched', async () => {
    const only = (command: string, condition: string) => ({
      STEP: { kind: 'System', command, transitions: [{ condition, target: 'DONE' }] },
      ...ENDS,
    });
    const [failed, unmatched, lastFailed] = await Promise.all([
      setup.run(only('exit 3', 'exit_code_zero')),
      setup.run(only('true', 'exit_code_non_zero')),
      setup.run({ STEP: { kind: 'System', command: 'exit 3', transitions: [] } }),
    ]);
    assert.deepEqual([failed.status, failed.reason], ['failed', 'command_failed']);
    assert.deepEqual([unmatched.status, unmatched.reason], ['failed', 'no_transition_matched']);
    assert.match(String(unmatched.error?.message), /STEP/);
    assert.equal(lastFailed.status, 'completed', 'an end state completes the run, whatever it did');
    assert.deepEqual([lastFailed.outcome, lastFailed.error?.code], ['failed', 'command_failed']);
  });

  test('scores are compared strictly, consensus inclusively, and a judge’s fields are seen by number', async () => {
    const panel = (input: string, transition: object) => ({
      STEP: {
        kind: 'ParallelAgents',
        agents: [{ agent: 'writer', input }],
        consensus: { strategy: 'weighted_average' },
        transitions: [{ ...transition, target: 'DONE' }, { target: 'FAILED' }],
      },
      DONE: finalize({ color: '{{STEP.agents.0.output.extra.color}}', score: '{{STEP.consensus.score}}' }),
      FAILED: finalize(),
    });
    const agent = (threshold: number) => ({
      STEP: {
        kind: 'Agent',
        agent: 'writer',
        input: 'score-edge',
        transitions: [{ condition: 'score_above', threshold, target: 'DONE' }, { target: 'FAILED' }],
      },
      ...ENDS,
    });
    const [atEdge, below, approved, rejected, strict, above] = await Promise.all([
      setup.run(panel('score-edge', { condition: 'consensus' })),
      setup.run(panel('score-edge', { condition: 'consensus', threshold: 0.71 })),
      setup.run(panel('score-edge', { condition: 'all_approved' })),
      setup.run(panel('score-edge', { condition: 'any_rejected' })),
      setup.run(agent(0.7)),
      setup.run(agent(0.69)),
    ]);
    assert.deepEqual(outputOf(atEdge), { color: 'red', score: '0.7' });
    assert.equal(below.current_state, 'FAILED');
    assert.deepEqual([approved.current_state, rejected.current_state], ['DONE', 'FAILED']);
    assert.deepEqual([strict.current_state, above.current_state], ['FAILED', 'DONE']);
  });

  test('a child’s output is STATE.result, its blackboard result_key, and both ends are events with their names', async () => {
    const name = `child-${randomUUID().slice(0, 8)}`;
    const work = { kind: 'System', command: 'update_blackboard', env: { got: '{{input.n}}' } };
    await setup.deploy(
      { WORK: { ...work, transitions: [{ target: 'END' }] }, END: finalize({ twice: '{{input.n}}{{input.n}}' }) },
      {},
      { name },
    );
    const ended = await setup.run(
      {
        CALL: {
          kind: 'Subworkflow',
          workflow_id: name,
          input: '{"n": {{input.n}} }',
          result_key: 'kept',
          transitions: [{ condition: 'on_success', target: 'LEAVE' }],
        },
        LEAVE: {
          kind: 'Subworkflow',
          workflow_id: name,
          input: 'text',
          mode: 'fire_and_forget',
          transitions: [{ condition: 'on_success', target: 'DONE' }],
        },
        DONE: finalize({ result: '{{CALL.result.twice}}', got: '{{blackboard.kept.got}}', left: '{{LEAVE.status}}' }),
      },
      { body: { input: { n: 7 } } },
    );
    assert.deepEqual(outputOf(ended), { result: '77', got: '7', left: 'success' });
    const { events } = await setup.logs(ended.execution_id);
    const told = events.filter(({ event_type }) => event_type.startsWith('Subworkflow'));
    assert.deepEqual(
      told.map(({ event_type, payload }) => [event_type, payload.mode ?? payload.result_key]),
      [
        ['SubworkflowTriggered', 'blocking'],
        ['SubworkflowCompleted', 'kept'],
        ['SubworkflowTriggered', 'fire_and_forget'],
      ],
    );
  });

  test('a signal, an approval and a default response are answers with what conditions and templates see of them', async () => {
    const states = {
      ASK: {
        kind: 'Human',
        prompt: 'Release {{input.what}}?',
        transitions: [
          { condition: 'input_equals', value: 'later', target: 'LATER' },
          { condition: 'input_equals_yes', target: 'YES' },
          { condition: 'input_equals_no', target: 'NO' },
        ],
      },
      ...Object.fromEntries(['LATER', 'YES', 'NO'].map((name) => [name, finalize({ said: '{{human.feedback}}' })])),
    };
    const workflow = await setup.deploy(states);
    const answered = async (answer: (id: string) => Promise<{ readonly status: number }>): Promise<Execution> => {
      const id = await setup.start(workflow, { input: { what: 'it' } });
      await setup.approvalOf(id);
      assert.equal((await answer(id)).status, 200);
      return setup.ended(id);
    };
    const signal = (response: string) => (id: string) =>
      setup.node.json('POST', `/v1/workflows/executions/${id}/signal`, { response });
    const verdict = (verb: string, body: object) => async (id: string) =>
      setup.node.json('POST', `/v1/human-approvals/${await setup.approvalOf(id)}/${verb}`, body);
    const seen = await Promise.all([
      answered(signal('later')),
      answered(signal('yes')),
      answered(verdict('approve', { feedback: 'well done' })),
      answered(verdict('reject', { reason: 'not yet' })),
      setup.run({ ...states, ASK: { ...states.ASK, timeout: '200ms', default_response: 'false' } }),
    ]);
    assert.deepEqual(
      seen.map((run) => [run.current_state, run.state_outputs.ASK?.output, Object(run.output).said]),
      [
        ['LATER', 'later', 'later'],
        ['YES', 'yes', 'yes'],
        ['YES', 'approved', 'well done'],
        ['NO', 'rejected', 'not yet'],
        ['NO', 'false', 'false'],
      ],
    );
  });

  test('a log has every event by name, at most 200 a page and 50 unless asked', async () => {
    const loop = {
      COUNT: {
        kind: 'System',
        command: 'update_blackboard',
        env: { n: '{{blackboard.n}}x' },
        transitions: [
          { condition: 'custom', expression: '{{length blackboard.n}} < 120', target: 'COUNT' },
          { target: 'DONE' },
        ],
      },
      DONE: finalize(),
    };
    const { execution_id } = await setup.run(loop, { spec: { context: { n: '' } } });
    const first = await setup.logs(execution_id);
    assert.deepEqual([first.events.length, first.limit], [50, 50]);
    const most = await setup.logs(execution_id, '?limit=1000');
    assert.deepEqual([most.events.length, most.limit], [200, 200]);
    const rest = await setup.logs(execution_id, '?limit=200&offset=200');
    const all = [...most.events, ...rest.events];
    assert.equal(first.total, all.length);
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map((_event, index) => index + 1),
    );
    const names = all.map(({ event_type }) => event_type);
    assert.equal(names[0], 'WorkflowExecutionStarted');
    assert.deepEqual(names.slice(1, 3), ['WorkflowStateEntered', 'WorkflowStateExited']);
    assert.equal(names.at(-1), 'WorkflowExecutionCompleted');
    assert.deepEqual(Object.keys(all.at(-1)?.payload ?? {}).sort(), [
      'completed_at',
      'execution_id',
      'final_blackboard',
      'output',
    ]);
  });

  test(`${RANDOM} random workflows end as the interpreter of the document says`, async () => {
    const send = sendTo(setup.node);
    await deployAgents(send);
    await checkCases(
      Array.from({ length: RANDOM }, (_case, at) => randomCase(FIRST_SEED + at)),
      send,
    );
  });
});
