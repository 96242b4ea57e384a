import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { eventsOf } from '../../clients/typescript/event-stream.ts';
import { svc } from '../cli/svc-run.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const Page = z.object({
  runs: z.array(z.looseObject({ id: z.string(), kind: z.string(), labels: z.record(z.string(), z.string()) })),
  next: z.string().optional(),
});

const asJson = { 'content-type': 'application/json' };

describe('the list of all runs and its feed, over HTTP', () => {
  let node: ProductNode;
  let agent = '';
  before(async () => {
    node = await ProductNode.start();
    agent = await node.deploy(agentYaml('writer'));
    const text = workflowText('release', { only: DONE });
    const headers = { 'content-type': 'application/yaml' };
    assert.equal((await node.call('POST', '/v1/workflows', { body: text, headers })).status, 200);
  });
  after(() => node[Symbol.asyncDispose]());

  const list = async (query: string) => {
    const { status, text, body } = await node.call('GET', `/v1/runs${query}`);
    assert.equal(status, 200, text);
    return Page.parse(body);
  };
  const start = (path: string, body: object) =>
    node.call('POST', path, { body: JSON.stringify(body), headers: asJson });

  test('labels given at each kind of start are shown, and found by', async () => {
    const starts = [
      ['/v1/executions', { agent_id: agent, input: 'x', labels: { team: 'docs', way: 'rest' } }],
      [`/v1/agents/${agent}/execute`, { intent: 'x', labels: { team: 'docs', way: 'goal' } }],
      ['/v1/workflows/release/run', { labels: { team: 'docs', way: 'workflow' } }],
    ] as const;
    const ids: string[] = [];
    for (const [path, body] of starts) {
      const started = await start(path, body);
      assert.equal(started.status, 200, started.text);
      ids.push(String(started.body.execution_id));
    }
    await waitUntil('all three are listed', async () => (await list('?label=team=docs')).runs.length === 3);
    const { runs } = await list('?label=team=docs&label=way:workflow');
    assert.deepEqual(
      runs.map(({ id, kind, labels }) => [id, kind, labels]),
      [[ids[2], 'workflow', { team: 'docs', way: 'workflow' }]],
    );
    const first = await list('?limit=2&label=team=docs');
    const second = await list(`?limit=2&label=team=docs&next=${first.next}`);
    assert.deepEqual(new Set([...first.runs, ...second.runs].map(({ id }) => id)), new Set(ids));
    const shown = await svc(['runs', 'list', '--label', 'way=goal', '--output', 'json'], { SVC_URL: node.url });
    assert.deepEqual(z.array(z.looseObject({ id: z.string() })).parse(JSON.parse(shown.stdout))[0]?.id, ids[1]);
  });

  test('labels beyond their limits are refused by the name of the field, and nothing is started', async () => {
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, 'v']));
    for (const labels of [
      many,
      { '': 'x' },
      { 'a b': 'x' },
      { k: 'x'.repeat(201) },
      { ['k'.repeat(64)]: 'x' },
      { k: 1 },
    ]) {
      for (const [path, body] of [
        ['/v1/executions', { agent_id: agent, input: 'refused' }],
        ['/v1/workflows/release/run', { intent: 'refused' }],
      ] as const) {
        const answer = await start(path, { ...body, labels });
        assert.equal(answer.status, 400, answer.text);
        assert.match(answer.text, /labels/);
      }
    }
  });

  test('a run that no node may begin is in list and feed at once, with its tags and the reason that it waits for a node', async () => {
    const waiting = await node.deploy(agentYaml('waiting', { execution: { target_tags: ['gpu'] } }));
    const stop = new AbortController();
    const response = await fetch(`${node.url}/v1/feed?wait_reason=node`, { signal: stop.signal });
    if (response.body === null) assert.fail('there is no body');
    const records = eventsOf<{ readonly run?: unknown }>(response.body);
    assert.deepEqual((await records.next()).value?.event, { open: {} });
    const { body } = await start('/v1/executions', { agent_id: waiting, input: 'x' });
    const [run] = (await list('?wait_reason=node&tag=gpu')).runs;
    assert.deepEqual([run?.id, run?.status, run?.tags], [body.execution_id, 'pending', ['gpu']]);
    assert.deepEqual((await records.next()).value?.event.run, run);
    await records.return();
    stop.abort();
    assert.equal((await node.call('POST', `/v1/executions/${body.execution_id}/cancel`)).status, 200);
  });

  test('an invalid condition is refused by its name', async () => {
    for (const query of [
      'status=done',
      'from=yesterday',
      'label=x',
      'next=no',
      'page_token=no',
      'kind=job',
      'wait_reason=rain',
      'limit=0',
    ]) {
      const { status, text } = await node.call('GET', `/v1/runs?${query}`);
      assert.equal(status, 400, query);
      assert.ok(text.includes(query.split('=')[0] ?? ''), text);
    }
  });

  test('a token that no list returned is refused under the name that its caller used', async () => {
    const { body } = await start('/v1/executions', { agent_id: agent, input: 'x' });
    for (const path of ['/v1/runs', '/v1/traces', `/v1/actors/execution/${body.execution_id}/history`])
      for (const name of ['next', 'page_token']) {
        const { status, text } = await node.call('GET', `${path}?${name}=no`);
        assert.equal(status, 400, path);
        assert.match(text, new RegExp(`"${name}: expected`), path);
      }
  });

  test('the feed has the runs of a condition as they begin, end and are removed, and resumes after its last record', async () => {
    const records: { readonly id: number; readonly place: string; readonly name: string }[] = [];
    const follow = async (signal: AbortSignal, place: string): Promise<void> => {
      const headers = place === '' ? {} : { 'last-event-id': place };
      const response = await fetch(`${node.url}/v1/feed?label=job=feed`, { headers, signal });
      assert.equal(response.headers.get('content-type'), 'text/event-stream');
      if (response.body === null) assert.fail('there is no body');
      for await (const { id, place: at, event } of eventsOf<object>(response.body))
        records.push({ id, place: at, name: Object.keys(event)[0] ?? '' });
    };
    const isAbort = (thrown: unknown): void => assert.ok(thrown instanceof Error && thrown.name === 'AbortError');
    let stop = new AbortController();
    let reading = follow(stop.signal, '').catch(isAbort);
    await waitUntil('the feed is open', () => records.length === 1);
    const { body } = await start('/v1/executions', { agent_id: agent, input: 'x', labels: { job: 'feed' } });
    const id = String(body.execution_id);
    await waitUntil('the run is in the feed', () => records.some(({ name }) => name === 'run'));
    stop.abort();
    await reading;
    await waitUntil('the run ends', async () => (await node.statusOf(id)).status === 'completed');
    await waitUntil(
      'it can be removed',
      async () => (await node.call('DELETE', `/v1/executions/${id}`)).status === 200,
    );
    stop = new AbortController();
    reading = follow(stop.signal, records.at(-1)?.place ?? '').catch(isAbort);
    await waitUntil('its removal is in the feed', () => records.some(({ name }) => name === 'run_removed'));
    stop.abort();
    await reading;
    assert.deepEqual(
      records.map((one) => one.id),
      records.map((_, index) => index + 1),
    );
    assert.equal((await node.call('GET', '/v1/feed?last_event_id=7')).status, 400);
    assert.equal((await node.call('GET', `/v1/feed?run=${id}`)).status, 404);
  });
});
