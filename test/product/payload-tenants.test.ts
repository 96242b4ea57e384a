import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { liveFiles } from '../support/live-files.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { type CallerName, Realms } from './realms.ts';

/** A text of the tenant whose payloads are encrypted, and one of another tenant. */
const WORDS = { alpha: 'canary-a1c6e093', beta: 'canary-b7d41f28' } as const;

type Tenant = keyof typeof WORDS;

const ADMIN: Readonly<Record<Tenant, CallerName>> = { alpha: 'alphaAdmin', beta: 'betaAdmin' };

describe('a node that encrypts the payloads of one tenant', () => {
  let realms: Realms;
  let node: ProductNode;
  const runs = new Map<Tenant, string>();
  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({ spec: { ...realms.spec, encryption: { payloads: { tenants: ['alpha'] } } } });
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const stored = async (word: string): Promise<boolean> => {
    for await (const [, content] of liveFiles(join(node.directory, 'data'))) if (content.includes(word)) return true;
    return false;
  };

  const statusOf = async (tenant: Tenant) =>
    node.call('GET', `/v1/executions/${runs.get(tenant)}`, { headers: await realms.headers(ADMIN[tenant]) });

  async function run(tenant: Tenant, agent: string): Promise<void> {
    const headers = await realms.headers(ADMIN[tenant]);
    const id = await node.deploy(agentYaml(agent), headers);
    runs.set(tenant, await node.run(id, WORDS[tenant], headers));
    await waitUntil(`the run of ${tenant}`, async () => (await statusOf(tenant)).body.status === 'completed');
  }

  test('leaves the texts of the other tenant as they are, and none of its own', async () => {
    await run('alpha', 'teller');
    await run('beta', 'teller');
    assert.deepEqual([await stored(WORDS.alpha), await stored(WORDS.beta)], [false, true]);
  });

  test('without a data key: names tenant and version at once, serves the other tenants, and reads again when the key is back', async () => {
    const operator = await realms.headers('operator');
    assert.equal((await node.json('POST', '/v1/cluster/secret-keys/rotate', undefined, operator)).status, 200);
    await node.process.kill('SIGKILL');
    const move = (from: string, to: string): void => {
      const database = new DatabaseSync(join(node.directory, 'data', 'documents.db'));
      const { changes } = database.prepare('UPDATE doc_payload_keys SET id = ? WHERE id = ?').run(to, from);
      database.close();
      assert.equal(changes, 1);
    };
    move('alpha.1', 'away');
    await node.spawn();
    const { status, body, text } = await statusOf('alpha');
    assert.equal(status, 503, text);
    assert.equal(body.error, 'unavailable');
    assert.match(String(body.message), /version 1 of the payload key of tenant alpha cannot be used: .*restore/, text);
    assert.equal((await statusOf('beta')).body.status, 'completed');
    await run('beta', 'further');
    assert.equal((await node.call('GET', '/health')).status, 200);
    await node.process.kill('SIGKILL');
    move('away', 'alpha.1');
    await node.spawn();
    assert.equal((await statusOf('alpha')).body.status, 'completed');
  });
});
