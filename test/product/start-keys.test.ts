import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, metadataOf, request } from '../transport/grpc/call.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';
import { type CallerName, Realms } from './realms.ts';

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'noted', version: '1.0.0', description: 'for a test' },
  spec: {
    initial_state: 'DONE',
    states: { DONE: { kind: 'System', command: 'finalize', transitions: [] } },
  },
});

/** Number of kills, each later after the start than the one before. */
const KILLS = sample({ normal: 1, long: 3 });

/** A start with a key, and the path of the run. */
const KINDS = [
  { name: 'an execution', runs: '/v1/executions' },
  { name: 'a workflow run', runs: '/v1/workflows/executions' },
] as const;

describe('a key of a start', { timeout: 300_000 }, () => {
  let realms: Realms;
  let node: ProductNode;
  let agent: string;
  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({ spec: realms.spec });
    const as = await realms.headers('alphaAdmin');
    agent = await node.deploy(agentYaml('writer'), as);
    const yaml = { ...as, 'content-type': 'application/yaml' };
    const deployed = await node.call('POST', '/v1/workflows?scope=tenant', { body: WORKFLOW, headers: yaml });
    assert.equal(deployed.status, 200, deployed.text);
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  for (const { name, runs } of KINDS) {
    const start = async (key: string, word = 'hi', caller: CallerName = 'alphaAdmin'): Promise<Answer> => {
      const headers = { ...(await realms.headers(caller)), 'idempotency-key': key };
      return runs === '/v1/executions'
        ? node.json('POST', runs, { agent_id: agent, input: word }, headers)
        : node.json('POST', '/v1/workflows/noted/run', { input: { word } }, headers);
    };
    const at = async (id: unknown, method = 'GET'): Promise<Answer> =>
      node.call(method, `${runs}/${id}`, { headers: await realms.headers('alphaAdmin') });
    const known = new Set<string>();
    const idOf = ({ status, text, body }: Answer): string => {
      assert.equal(status, 200, text);
      known.add(String(body.execution_id));
      return String(body.execution_id);
    };
    const listed = async (): Promise<string[]> => {
      const { body } = await node.call('GET', `${runs}?limit=100`, { headers: await realms.headers('alphaAdmin') });
      assert.ok(Array.isArray(body.executions));
      return body.executions.map(({ execution_id }: { execution_id: string }) => execution_id);
    };
    const removed = async (id: string): Promise<void> => {
      await waitUntil('it has ended', async () => (await at(id)).body.status === 'completed');
      assert.equal((await at(id, 'DELETE')).status, 200);
    };

    test(`${name}: another body under the same key is refused, and the same body finds what it started`, async () => {
      const id = idOf(await start('body'));
      const { status, body } = await start('body', 'other');
      assert.deepEqual([status, body.error], [409, 'conflict']);
      assert.equal(idOf(await start('body')), id);
    });

    test(`${name}: a key whose execution was deleted is free, for any body, and starts once`, async () => {
      const first = idOf(await start('freed'));
      await removed(first);
      const all = await Promise.all(Array.from({ length: 8 }, () => start('freed', 'anew')));
      const [second, ...others] = new Set(all.map(idOf));
      assert.deepEqual(others, []);
      assert.notEqual(second, first);
      assert.equal((await at(second)).status, 200);
      assert.equal((await start('freed')).status, 409);
    });

    test(`${name}: a key belongs to its caller`, async () => {
      const first = idOf(await start('mine'));
      const second = idOf(await start('mine', 'hi', 'alphaUser'));
      assert.notEqual(second, first);
      assert.equal((await at(second)).status, 200);
      assert.deepEqual([idOf(await start('mine')), idOf(await start('mine', 'hi', 'alphaUser'))], [first, second]);
      assert.equal((await start('mine', 'other', 'alphaUser')).status, 409);
      await removed(first);
      assert.notEqual(idOf(await start('mine')), first);
      assert.equal(idOf(await start('mine', 'hi', 'alphaUser')), second);
    });

    test(`${name}: a key that was freed starts once, whenever the node is killed`, async () => {
      for (let round = 0; round < KILLS; round += 1) {
        await removed(idOf(await start('killed', `before ${round}`)));
        // Both calls are cut off, or answered; the kill comes at another moment each time.
        const calls = [1, 2].map(() => start('killed', `round ${round}`).catch(() => null));
        await Promise.race([calls[0], new Promise((resolve) => setTimeout(resolve, round * 5))]);
        await node.process.kill('SIGKILL');
        const answered = (await Promise.all(calls)).flatMap((answer) => (answer?.status === 200 ? [idOf(answer)] : []));
        await node.spawn();
        const id = idOf(await start('killed', `round ${round}`));
        for (const earlier of answered) assert.equal(earlier, id);
        assert.equal((await at(id)).status, 200);
        await removed(id);
      }
      const last = idOf(await start('last'));
      const all = await waitUntil('what was started is listed', async () => {
        const ids = await listed();
        return ids.includes(last) ? ids : null;
      });
      for (const id of all) assert.ok(known.has(id), `${id} was started but never returned`);
    });
  }

  test('a key given over gRPC is the same key as over REST', async () => {
    const as = await realms.headers('alphaAdmin');
    const client = clientOf(await node.process.grpcAddress);
    const metadata = metadataOf({ ...as, 'idempotency-key': 'both' });
    const call = { ...request('writer'), input: 'hi' };
    const first = await ended(client.executeAgent(call, metadata));
    assert.equal(first.code, 'OK');
    const [id] = first.first?.get('svc-execution-id') ?? [];
    const gone = await node.call('DELETE', `/v1/executions/${id}`, { headers: as });
    assert.equal(gone.status, 200);
    const second = await ended(client.executeAgent({ ...call, input: 'other' }, metadata));
    assert.equal(second.code, 'OK');
    assert.notEqual(second.first?.get('svc-execution-id')[0], id);
    const third = await ended(client.executeAgent(call, metadata));
    assert.equal(third.code, 'ALREADY_EXISTS');
    client.close();
  });
});
