import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, ProductNode } from '../product-node.ts';
import { Why, workflowYaml } from './planted-runs.ts';

const ON_SUCCESS = [{ condition: 'on_success', target: 'END' }];

/** Name, the state that fails, kinds of the chain, sentence. */
const ROWS: readonly (readonly [string, object, readonly string[], RegExp])[] = [
  [
    'a command',
    { kind: 'System', command: 'exit 3' },
    ['workflow', 'state', 'error'],
    /^Run \S+ failed in state STEP: command_failed \(.*exit code 3\)\.$/,
  ],
  [
    'a version that is missing',
    { kind: 'Agent', agent: 'nobody', input: 'x' },
    ['workflow', 'state', 'error', 'version'],
    /^Run \S+ failed in state STEP: not_found: no version of agent nobody is deployed\.$/,
  ],
  [
    'the attempt of a child',
    { kind: 'Agent', agent: 'no-model', input: 'x' },
    ['workflow', 'state', 'child', 'attempt'],
    /^Run \S+ failed in state STEP: child run \S+ of agent no-model failed in iteration 1: not_found \(/,
  ],
  [
    'the judge of a child',
    { kind: 'Agent', agent: 'judged', input: 'x' },
    ['workflow', 'state', 'child', 'error', 'attempt', 'verdict'],
    /child run \S+ of agent judged failed in iteration 1: max_iterations_exceeded .*: validator semantic.* refused the output \(/,
  ],
  [
    'the child of a child',
    { kind: 'Subworkflow', workflow_id: 'a-command' },
    ['workflow', 'state', 'child', 'state', 'error'],
    /^Run \S+ failed in state STEP: child run \S+ of workflow a-command failed in state STEP: command_failed/,
  ],
];

describe('why a run ended', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start();
    await node.deploy(agentYaml('no-model', { runtime: { model: 'nothing' } }));
    await node.deploy(agentYaml('critic', { task: { prompt_template: 'well {{input}}' } }));
    const validation = [{ type: 'semantic', judge_agent: 'critic' }];
    await node.deploy(agentYaml('judged', { execution: { mode: 'iterative', max_iterations: 1, validation } }));
  });
  after(() => node[Symbol.asyncDispose]());

  const ended = (path: string): Promise<Why> =>
    waitUntil(
      'the end',
      async () => {
        const why = Why.parse((await node.call('GET', `${path}/why`)).body);
        return !why.waiting && why;
      },
      30_000,
    );

  for (const [what, state, kinds, sentence] of ROWS) {
    test(`${what} is named`, async () => {
      const text = workflowYaml(what.replaceAll(' ', '-'), { transitions: ON_SUCCESS, ...state });
      const why = await ended(`/v1/workflows/executions/${await node.runWorkflow(text)}`);
      assert.match(why.sentence, sentence);
      assert.deepEqual(
        why.chain.map(({ kind }) => kind),
        kinds,
      );
    });
  }

  test('a run that completed in a state that failed is named as failed, with its error', async () => {
    const last = { kind: 'System', command: 'exit 3', transitions: [] };
    const why = await ended(`/v1/workflows/executions/${await node.runWorkflow(workflowYaml('ends-failed', last))}`);
    assert.match(why.sentence, /^Run \S+ ended as failed in state STEP: command_failed \(.*exit code 3\)\.$/);
    assert.deepEqual(
      why.chain.map(({ kind }) => kind),
      ['workflow', 'state', 'error'],
    );
  });

  test('a cancel is named', async () => {
    const id = await node.run(await node.deploy(agentYaml('sleeps')), 'sleepy');
    assert.equal((await node.json('POST', `/v1/executions/${id}/cancel`, {})).status, 200);
    const why = await ended(`/v1/executions/${id}`);
    assert.match(why.sentence, /^Run \S+ was cancelled in iteration 1: a caller cancelled it\.$/);
  });
});
