import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type ModelServer, type RecordedCall, startModelServer } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, ProductNode } from '../product-node.ts';

const ENDED_WITHIN_MS = 60_000;
const DIGITS = { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] };

const promptOf = ({ body }: RecordedCall): string => JSON.stringify(body.messages);
/** Answers in words; in digits once the prompt says that words are wrong. */
const answer = (call: RecordedCall) => ({ chunks: [promptOf(call).includes('Earlier attempts') ? '7' : 'seven'] });

type Pattern = Readonly<Record<string, unknown>>;

describe('agents that learn, on a node as a user starts it', () => {
  let models: ModelServer;
  let node: ProductNode;
  const start = (cortex: Readonly<Record<string, unknown>> = {}): Promise<ProductNode> =>
    ProductNode.start({
      spec: {
        cortex,
        llm_providers: [
          {
            name: 'local',
            type: 'openai-compatible',
            endpoint: `${models.url}/v1`,
            models: [{ alias: 'default', model: 'some-model' }],
          },
        ],
      },
    });
  before(async () => {
    models = await startModelServer();
    models.answer(answer);
    node = await start();
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await models.stop();
  });

  const ended = (on: ProductNode, executionId: string) =>
    waitUntil(
      `the end of ${executionId}`,
      async () => {
        const status = await on.statusOf(executionId).catch(() => null);
        return ['completed', 'failed', 'cancelled'].includes(String(status?.status)) && status;
      },
      ENDED_WITHIN_MS,
    );
  const patterns = async (query = ''): Promise<readonly Pattern[]> => {
    const { status, body } = await node.call('GET', `/v1/cortex/patterns${query}`);
    assert.equal(status, 200);
    assert.ok(Array.isArray(body.patterns));
    return body.patterns;
  };
  /** Prompts of one agent, which contain its name. */
  const prompts = (name: string) => models.calls.map(promptOf).filter((prompt) => prompt.includes(`task of ${name}`));
  const run = async (name: string, execution: Readonly<Record<string, unknown>>, on = node) => {
    const agent = await on.deploy(agentYaml(name, { execution }));
    return ended(on, await on.run(agent, `task of ${name}`));
  };

  test('the solution of one execution’s failure is in the prompt of the next execution with a similar failure', async () => {
    const first = await run('teacher', { ...DIGITS, memory: true });
    assert.equal(first.status, 'completed');
    assert.equal(first.iteration_count, 2);
    const [learned, ...more] = await patterns();
    assert.deepEqual(more, []);
    assert.equal(learned?.error_type, 'validation_failed');
    assert.equal(learned?.solution_code, '7');
    assert.equal(learned?.frequency, 1);
    assert.equal(prompts('teacher').length, 2);
    assert.doesNotMatch(prompts('teacher').join(), /What solved errors like this/);

    const second = await run('pupil', { ...DIGITS, memory: true });
    assert.equal(second.last_output, '7');
    const [asked = '', refined = '', ...others] = prompts('pupil');
    assert.deepEqual(others, []);
    assert.doesNotMatch(asked, /What solved errors like this/);
    assert.match(refined, /What solved errors like this before[\s\S]*Agent teacher/);
  });

  test('an agent without memory gets no patterns, and stores none', async () => {
    const before = await patterns('?limit=100');
    const ended = await run('forgetful', DIGITS);
    assert.equal(ended.status, 'completed');
    assert.doesNotMatch(prompts('forgetful').join(), /What solved errors like this/);
    assert.deepEqual(
      (await patterns('?limit=100')).map(({ frequency }) => frequency),
      before.map(({ frequency }) => frequency),
    );
  });

  test('where the node has no memory an agent with memory runs like one without', async () => {
    await using off = await start({ enabled: false });
    const status = await run('lonely', { ...DIGITS, memory: true }, off);
    assert.equal(status.status, 'completed');
    assert.equal(status.iteration_count, 2);
    const { status: http, body } = await off.call('GET', '/v1/cortex/patterns');
    assert.deepEqual([http, body.error, body.message], [409, 'cortex_not_configured', 'Cortex not configured']);
  });

  test('a node that is killed at any moment around the success counts it exactly once', async () => {
    const agent = await node.deploy(agentYaml('phoenix', { execution: { ...DIGITS, memory: true } }));
    const counted = async (): Promise<number> =>
      (await patterns('?limit=100')).reduce((sum, { frequency }) => sum + Number(frequency), 0);
    const before = await counted();
    for (const [runs, delayMs] of [0, 3, 8, 20].entries()) {
      const asked = models.calls.length;
      const execution = await node.run(agent, 'task of phoenix');
      await waitUntil('the second prompt', () => models.calls.length >= asked + 2, ENDED_WITHIN_MS);
      // Not a wait for a condition: the test varies the moment of the kill.
      await pause(delayMs);
      await node.process.kill('SIGKILL');
      await node.spawn();
      const status = await ended(node, execution);
      assert.equal(status.status, 'completed');
      assert.equal(await counted(), before + runs + 1, `killed ${delayMs} ms after the second prompt`);
    }
    // All of these agents had the same failure and got the same solution.
    assert.equal((await patterns('?limit=100')).length, 1);
  });
});
