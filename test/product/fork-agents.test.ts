import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ownerPart } from '../../runtime/documents/blob-reference.ts';
import { ModelServer } from '../support/model-server.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { asObject } from '../support/workflow-examples-run.ts';
import { agentYaml, ProductNode } from './product-node.ts';

/** Refined once: its first answer fails the check. */
const REFINED = agentYaml('refined', {
  execution: { max_iterations: 3, validation: [{ type: 'regex', pattern: '^good' }] },
});

/** A panel of one judges each of its answers. */
const JUDGE = agentYaml('judge');
const JUDGED = agentYaml('judged', {
  execution: { max_iterations: 2, validation: [{ type: 'semantic', judge_agent: 'judge', criteria: 'a verdict' }] },
});

/** Reads a file with a tool, then answers. */
const WITH_TOOLS = agentYaml('with-tools', { tools: ['fs.list'] });

describe('forks of executions', () => {
  const models = new ModelServer();
  const agents = new Map<string, string>();
  let node: ProductNode;
  let isSilent = false;
  before(async () => {
    await models.start();
    models.answer(({ body }) => {
      const said = JSON.stringify(body.messages);
      if (isSilent) return { silent: true };
      if (said.includes('criteria')) return { chunks: ['{"score": 1, "confidence": 1, "reasoning": "fine"}'] };
      if (said.includes('use a tool') && !said.includes('tool_call_id'))
        return { toolCalls: [{ id: 'a', name: 'fs.list', arguments: '{"path": "."}' }] };
      return { chunks: [said.includes('bad answer') ? 'good ' : 'bad ', 'answer'] };
    });
    const provider = {
      ...{ name: 'fake', type: 'openai-compatible', endpoint: `${models.url}/v1` },
      models: [{ alias: 'default', model: 'one' }],
    };
    node = await ProductNode.start({ spec: { llm_providers: [provider] } });
    await node.deploy(JUDGE);
    for (const [name, yaml] of Object.entries({ refined: REFINED, judged: JUDGED, 'with-tools': WITH_TOOLS }))
      agents.set(name, await node.deploy(yaml));
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await models.stop();
  });

  const ended = (id: string) =>
    waitUntil(`execution ${id} to end`, async () => {
      const status = await node.statusOf(id);
      return status.status === 'running' || status.status === 'pending' ? null : status;
    });

  async function historyOf(id: string): Promise<{ id: string; type: string }[]> {
    return waitUntil(`the whole history of ${id}`, async () => {
      const { body } = await node.call('GET', `/v1/actors/execution/${id}/history?limit=200`);
      const { body: actor } = await node.call('GET', `/v1/actors/execution/${id}`);
      const found = (Array.isArray(body.deliveries) ? body.deliveries : []).map(asObject);
      const last = String(found.at(-1)?.message_id);
      const at = await node.call('GET', `/v1/actors/execution/${id}/state?at=${last}`);
      if (actor.archived !== true || at.body.revision !== actor.revision) return null;
      return found.map(({ message_id, type }) => ({ id: String(message_id), type: String(type) }));
    });
  }

  /** Model calls of a fork at this message: those whose answers, and judges, came later. */
  const left = (types: readonly string[]): number =>
    types.filter((type) => type === 'ModelAnswered' || type === 'PanelWord').length;

  const ENDS = ['status', 'iteration_count', 'last_output', 'last_error', 'usage', 'tool_calls_executed'];
  const endOf = (status: Readonly<Record<string, unknown>>) => ENDS.map((name) => status[name]);

  async function forkAtEach(name: string, input: string): Promise<number> {
    const id = await node.run(agents.get(name) ?? '', input);
    const original = await ended(id);
    const messages = await historyOf(id);
    const most = sample({ normal: 6, long: 1_000 });
    let forks = 0;
    for (const [place, { id: message_id, type }] of messages.entries()) {
      if (forks >= most) break;
      const calls = models.calls.length;
      const answer = await node.json('POST', `/v1/runs/${id}/fork`, { message_id });
      if (answer.status === 409) continue;
      assert.equal(answer.status, 200, `${name} at ${type}: ${answer.text}`);
      const status = await ended(String(answer.body.id));
      assert.deepEqual(endOf(status), endOf(original), `${name} forked at ${place} ${type}`);
      assert.deepEqual(status.forked_from, { id, message_id });
      const expected = left(messages.slice(place + 1).map((one) => one.type));
      assert.equal(models.calls.length - calls, expected, `calls of ${name} forked at ${place} ${type}`);
      forks += 1;
    }
    return forks;
  }

  for (const [name, input] of [
    ['refined', 'write'],
    ['judged', 'write'],
    ['with-tools', 'use a tool'],
  ] as const) {
    test(`${name}: a fork at each message ends as the original did, and no answered question is asked again`, async () => {
      for (let round = 0; round < sample({ normal: 1, long: 17 }); round += 1)
        assert.ok((await forkAtEach(name, input)) >= 2);
    });
  }

  test('the stream of a fork is complete, and its history replays', async () => {
    const id = await node.run(agents.get('refined') ?? '', 'write');
    await ended(id);
    const messages = await historyOf(id);
    const answered = messages.find(({ type }) => type === 'ModelAnswered');
    const { body } = await node.json('POST', `/v1/runs/${id}/fork`, { message_id: answered?.id });
    const fork = String(body.id);
    await ended(fork);
    const names = async (run: string): Promise<unknown[]> => {
      const { body: log } = await node.call('GET', `/v1/executions/${run}/events?limit=200`);
      const events = (Array.isArray(log.events) ? log.events : []).map(asObject);
      return events.map(({ event_type }) => event_type).filter((one) => one !== 'IterationOutput');
    };
    assert.deepEqual(await names(fork), await names(id));
    assert.equal((await names(fork))[0], 'ExecutionStarted');
    await historyOf(fork);
    const again = await node.json('POST', `/v1/runs/${fork}/fork`, {});
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(endOf(await ended(String(again.body.id))), endOf(await ended(id)));
  });

  test('a fork works after its original was removed with its earlier messages', async () => {
    const id = await node.run(agents.get('with-tools') ?? '', `use a tool ${'for long '.repeat(4_000)}`);
    await ended(id);
    const answered = (await historyOf(id)).find(({ type }) => type === 'ModelAnswered');
    const state = await node.call('GET', `/v1/actors/execution/${id}/state?at=${answered?.id}`);
    const owner = ownerPart(`execution/svc-system/${id}`);
    assert.match(state.text, new RegExp(`[0-9a-f]{64}\\.${owner}`), 'a part of the conversation is stored separately');

    const calls = models.calls.length;
    isSilent = true;
    const { body } = await node.json('POST', `/v1/runs/${id}/fork`, { message_id: answered?.id });
    await waitUntil('the fork to ask its model', () => models.calls.length > calls);
    assert.equal((await node.call('DELETE', `/v1/executions/${id}`)).status, 200);
    await waitUntil('the payloads of the original to be removed', async () => {
      const kept = await readdir(join(node.directory, 'data', 'blobs'), { recursive: true });
      return !kept.some((name) => name.endsWith(owner));
    });
    // Another process has no part of the conversation in its memory.
    await node.process.kill('SIGKILL');
    isSilent = false;
    await node.spawn();
    const status = await ended(String(body.id));
    assert.equal(status.status, 'completed', JSON.stringify(status));
    assert.match(JSON.stringify(models.calls.at(-1)?.body.messages), /use a tool for long/);
  });

  test('a message that the actor did not get is refused, and the error names the field', async () => {
    const id = await node.run(agents.get('refined') ?? '', 'write');
    await ended(id);
    const [start] = await historyOf(id);
    const foreign = '00000000-0000-4000-8000-000000000000';
    for (const [query, field] of [
      [`state?at=${foreign}`, 'at'],
      [`diff?to=${foreign}`, 'to'],
      [`diff?from=${foreign}&to=${start?.id}`, 'from'],
    ] as const) {
      const { status, body } = await node.call('GET', `/v1/actors/execution/${id}/${query}`);
      assert.deepEqual([status, body.message], [404, `${field}: the actor received no message with this id`]);
    }
    const unknown = await node.call('GET', `/v1/actors/execution/${foreign}/state?at=${start?.id}`);
    assert.deepEqual([unknown.status, unknown.body.message], [404, 'actor not found']);
  });

  test('another input is used from the message on', async () => {
    const id = await node.run(agents.get('refined') ?? '', 'write');
    await ended(id);
    const [start] = await historyOf(id);
    const calls = models.calls.length;
    const { body } = await node.json('POST', `/v1/runs/${id}/fork`, { message_id: start?.id, input: 'something else' });
    await ended(String(body.id));
    assert.match(JSON.stringify(models.calls[calls]?.body.messages), /something else/);
  });
});
