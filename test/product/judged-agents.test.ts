import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const verdict = (score: number, reasoning: string): string => JSON.stringify({ score, confidence: 0.9, reasoning });

/** A judge receives JSON, so the text that it judges is in quotes. */
const RULES = [
  { match: { contains: 'I am the strict one' }, reply: verdict(0.6, 'It could be better still.') },
  { match: { contains: 'I am the mild one' }, reply: verdict(1, 'It is perfect as it is.') },
  { match: { contains: 'I am the confused one' }, reply: 'Well, who am I to judge?' },
  { match: { contains: 'Is it slow?', attempt: 1 }, reply: { text: 'I am thinking', chunks: 2, delay_ms: 60_000 } },
  { match: { contains: 'Is it slow?' }, reply: verdict(0.8, 'It took its time, and is good.') },
  { match: { contains: '"output":"Draft one."' }, reply: verdict(0.4, 'It does not name its source.') },
  { match: { contains: '"output":"Draft two, with a source."' }, reply: verdict(0.9, 'Now it names its source.') },
  { match: { contains: 'It does not name its source.' }, reply: 'Draft two, with a source.' },
  { match: { contains: 'Judge whether the output' }, reply: verdict(0.85, 'It does what was asked.') },
  { reply: 'Draft one.' },
];

const judge = (name: string): string =>
  agentYaml(name, { task: { prompt_template: `I am the ${name} one. {{input}}` } });
const iterative = (validation: unknown) => ({ execution: { mode: 'iterative', max_iterations: 3, validation } });

const Judges = z.object({
  kind: z.literal('judges'),
  reason: z.string(),
  judges: z.array(z.object({ agent: z.string(), execution_id: z.string(), status: z.string() })).default([]),
});

describe('an agent that is refined by judges', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start({ rules: RULES });
    for (const name of ['critic', 'strict', 'mild', 'confused']) await node.deploy(judge(name));
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  async function ended(id: string): ReturnType<ProductNode['statusOf']> {
    await waitUntil(
      'the execution to end',
      async () => !['pending', 'running'].includes(String((await node.statusOf(id)).status)),
      30_000,
    );
    return node.statusOf(id);
  }

  async function runJudged(name: string, validation: unknown, input = 'write of otters'): Promise<string> {
    const task = { prompt_template: '{{input}}' };
    return node.run(await node.deploy(agentYaml(name, { task, ...iterative(validation) })), input);
  }

  const stream = async (id: string): Promise<string> => (await node.call('GET', `/v1/executions/${id}/stream`)).text;

  /** The judges whose executions run and are waited for. */
  async function judging(id: string): Promise<z.output<typeof Judges>> {
    let last: z.output<typeof Judges> | undefined;
    await waitUntil('a judge to run', async () => {
      last = Judges.safeParse((await node.statusOf(id)).waiting_for).data;
      return last?.judges.some(({ status }) => status === 'judging') ?? false;
    });
    assert.ok(last !== undefined);
    return last;
  }

  test('retries with the reason of a judge’s refusal, until the judge accepts', async () => {
    const id = await runJudged('writer', [{ type: 'semantic', judge_agent: 'critic', criteria: 'Is there a source?' }]);
    const end = await ended(id);
    assert.deepEqual([end.status, end.iteration_count, end.last_output], ['completed', 2, 'Draft two, with a source.']);
    const events = await stream(id);
    assert.match(events, /validation_failed/);
    assert.match(events, /semantic \(critic\): score 0\.4, at least 0\.7.*judge critic.*It does not name its source\./);
  });

  test('takes the consensus of three judges, of whom one may fail', async () => {
    const judges = ['strict', 'mild', 'confused'];
    const id = await runJudged('by-three', [{ type: 'multi_judge', judges, min_judges_required: 2, min_score: 0.8 }]);
    assert.deepEqual([(await ended(id)).status, (await ended(id)).iteration_count], ['completed', 1]);
    const all = { type: 'multi_judge', judges, min_judges_required: 3 };
    const other = await ended(await runJudged('by-all-three', [all]));
    assert.equal(other.status, 'failed');
    assert.match(
      String(other.last_error),
      /2 of 3 judges gave a verdict, at least 3 must: judge confused: expected JSON/,
    );
  });

  test('ends at once, under its code, when the model of its judge does not exist; a panel of a workflow too', async () => {
    const task = { prompt_template: '{{input}}' };
    await node.deploy(agentYaml('lost', { task, runtime: { model: 'nowhere' } }));
    const end = await ended(await runJudged('by-lost', [{ type: 'semantic', judge_agent: 'lost' }]));
    assert.deepEqual([end.status, end.iteration_count], ['failed', 1]);
    const { code, message } = Object(end.error);
    assert.equal(code, 'not_found');
    assert.match(message, /judge lost: .*No model has the alias \\?"nowhere\\?"/);
    const consensus = { strategy: 'weighted_average' };
    const JUDGE = {
      kind: 'ParallelAgents',
      agents: [{ agent: 'lost', input: 'judge this' }],
      consensus,
      transitions: [],
    };
    const spec = { initial_state: 'JUDGE', states: { JUDGE } };
    const run = await node.runWorkflow(
      stringify({
        apiVersion: 'svc.dev/v1',
        kind: 'Workflow',
        metadata: { name: 'lost-judge', version: '1.0.0' },
        spec,
      }),
    );
    const { body } = await waitUntil('the run to end', async () => {
      const answer = await node.call('GET', `/v1/workflows/executions/${run}`);
      return answer.body.ended_at !== null && answer;
    });
    assert.deepEqual([body.outcome, Object(body.error).code], ['failed', 'not_found'], JSON.stringify(body.error));
  });

  test('is judged by a model where the manifest names no agent', async () => {
    const id = await runJudged('by-model', { semantic: { enabled: true } });
    assert.equal((await ended(id)).status, 'completed');
  });

  test('stops at the third level of judges that are judged themselves', async () => {
    const id = await runJudged('narcissus', [{ type: 'semantic', judge_agent: 'narcissus' }]);
    const end = await ended(id);
    assert.equal(end.status, 'failed');
    assert.match(String(end.last_error), /MaxRecursiveDepthExceeded/);
  });

  test('names the judges that it waits for; a cancel stops them', async () => {
    const slow = [{ type: 'semantic', judge_agent: 'critic', criteria: 'Is it slow?' }];
    const id = await runJudged('waits', slow);
    const { reason, judges } = await judging(id);
    assert.equal(reason, 'iteration 1: waiting for 1 of 1 judge: critic');
    await node.json('POST', `/v1/executions/${id}/cancel`, {});
    assert.equal((await ended(id)).status, 'cancelled');
    for (const { execution_id } of judges) assert.equal((await ended(execution_id)).status, 'cancelled');
  });

  test('is judged to the end after its node was killed while a judge was running', async () => {
    const slow = [{ type: 'semantic', judge_agent: 'critic', criteria: 'Is it slow?' }];
    const id = await runJudged('killed', slow);
    const { judges } = await judging(id);
    await waitUntil('the judge to be asked', async () => {
      const wait = (await node.statusOf(judges[0]?.execution_id ?? '')).waiting_for;
      return JSON.stringify(wait ?? '').includes('"status":"started"');
    });
    await node.process.kill('SIGKILL');
    await node.spawn();
    const end = await ended(id);
    assert.deepEqual([end.status, end.iteration_count, end.last_output], ['completed', 1, 'Draft one.']);
  });
});
