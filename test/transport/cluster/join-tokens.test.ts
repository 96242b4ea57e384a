import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import type { NewJoinToken } from '../../../security/api.ts';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { type Answer, PageClient } from './page.ts';

const HERE = { 'svc-node-grpc-address': '127.0.0.1:50056' };

describe('join tokens', { timeout: 300_000 }, () => {
  let at: FleetNode;
  let client: PageClient;
  let aheadMs = 0;
  let made = 0;
  before(async () => {
    at = await fleetNode({ requireJoinToken: true, now: () => Date.now() + aheadMs });
    client = new PageClient(at.address);
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
  });
  const token = async (
    asked: NewJoinToken = {},
  ): Promise<{ readonly id: string; readonly shown: Readonly<Record<string, string>> }> => {
    const { id, token: text } = await at.joinTokens.create(OPERATOR, asked);
    return { id, shown: { 'svc-join-token': text } };
  };
  const fresh = (name?: string): IndependentWorker => {
    made += 1;
    return new IndependentWorker(name ?? `w-${made}`, client);
  };
  const refused = (answer: Answer, reason: string): void => {
    assert.deepEqual(
      [answer.code, answer.metadata.at(-1)?.get('svc-error-reason')[0]],
      ['PERMISSION_DENIED', reason],
      answer.details,
    );
    assert.equal(at.audited.at(-1)?.event, 'JoinTokenRefused');
    assert.equal(at.audited.at(-1)?.reason, reason);
  };

  test('a node without a join token, or with an unknown one, is not attested', async () => {
    refused(await fresh().attest(), 'join_token_missing');
    for (const text of ['', 'x', `svcj_${'A'.repeat(43)}`]) {
      refused(await fresh().attest({}, { 'svc-join-token': text }), 'join_token_unknown');
    }
  });

  test('one token admits one node, which is attested again and again with it', async () => {
    const { shown, id } = await token();
    const [first, second] = [fresh(), fresh()];
    for (const _ of [1, 2, 3]) await first.prove({}, shown);
    refused(await second.attest({}, shown), 'join_token_used_up');
    // Another key is another node.
    refused(await fresh(first.nodeId).attest({}, shown), 'join_token_used_up');
    const { items } = await at.joinTokens.list({ limit: 100 });
    const view = items.find((one) => one.id === id);
    assert.deepEqual(
      [view?.status, view?.refusals, view?.used_by.map(({ node_id }) => node_id)],
      ['used_up', 2, [first.nodeId]],
    );
    assert.equal(at.audited.filter((one) => one.event === 'JoinTokenUsed' && one.token_id === id).length, 1);
  });

  test('of many concurrent nodes with one token, as many are admitted as it has uses', async () => {
    const { shown, id } = await token({ uses: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => fresh().attest({}, shown)));
    assert.equal(answers.filter(({ code }) => code === 'OK').length, 3);
    const { items } = await at.joinTokens.list({ limit: 100 });
    assert.equal(items.find((one) => one.id === id)?.used_by.length, 3);
  });

  test('an expired token admits no new node, and a node that came with it stays', async () => {
    const { shown } = await token({ expiresInSeconds: 60, uses: 5 });
    const member = fresh();
    await member.prove({}, shown);
    aheadMs = 61_000;
    refused(await fresh().attest({}, shown), 'join_token_expired');
    await member.prove({}, shown);
    // Also without any token: its key is known.
    await member.prove();
    aheadMs = 0;
  });

  test('a revoked token admits no node any more, also none that came with it', async () => {
    const { shown, id } = await token({ uses: 5 });
    const member = fresh();
    await member.prove({}, shown);
    await at.joinTokens.revoke(OPERATOR, id);
    refused(await fresh().attest({}, shown), 'join_token_revoked');
    refused(await member.attest({}, shown), 'join_token_revoked');
    refused(await member.attest(), 'join_token_revoked');
    await assert.rejects(at.joinTokens.revoke(OPERATOR, '7d6f1c1a-3a50-4f7b-9a55-0a4b2f1c9e01'), (error: unknown) => {
      assert.ok(error instanceof SvcError);
      return error.code === 'not_found';
    });
  });

  test('it is for the names and roles that it says', async () => {
    const { shown } = await token({ names: ['gpu-*', 'exact'], uses: 9 });
    for (const name of ['cpu-1', 'exact-1', 'gpu', 'GPU-1'])
      refused(await fresh(name).attest({}, shown), 'join_token_names');
    for (const name of ['gpu-1', 'exact']) await fresh(name).prove({}, shown);
    refused(await fresh('gpu-2').attest({ role: 2 }, shown), 'join_token_roles');
    const both = await token({ roles: ['HYBRID'] });
    await fresh().prove({ role: 2 }, both.shown);
  });

  test('a node registers within its tags and addresses, then and later', async () => {
    const { shown } = await token({ tags: ['gpu', 'zone:eu'] });
    const node = fresh();
    await node.prove({}, shown);
    refused(await node.register({ tags: ['gpu', 'secure'] }, HERE), 'join_token_tags');
    refused(
      await node.register({ tags: ['gpu'] }, { 'svc-node-grpc-address': '169.254.169.254:80' }),
      'join_token_addresses',
    );
    assert.equal(await at.peers.isRegistered(node.nodeId), false);
    assert.equal((await node.register({ tags: ['gpu'] }, HERE)).code, 'OK');
    refused(await node.register({ tags: ['tenant:acme'] }, HERE), 'join_token_tags');
    assert.deepEqual((await at.peers.get(node.nodeId)).capabilities.tags, ['gpu']);
  });

  const places: readonly [addresses: readonly string[], good: readonly string[], bad: readonly string[]][] = [
    [['10.0.0.0/8'], ['10.1.2.3:1'], ['11.0.0.1:1', 'evil.example.com:1', '127.0.0.1:1', '[fe80::1]:1']],
    [
      ['node.example.com', '*.pods.local'],
      ['node.example.com:1', 'a.pods.local:1'],
      ['example.com:1', 'apods.local:1', '10.0.0.1:1'],
    ],
    [
      ['fd00::/8', '10.0.0.1'],
      ['[fd12::1]:1', '10.0.0.1:1'],
      ['[fe80::1]:1', '10.0.0.2:1'],
    ],
  ];
  for (const [addresses, good, bad] of places) {
    test(`addresses ${addresses.join(', ')} are ${good.join(', ')} and not ${bad.join(', ')}`, async () => {
      const node = fresh();
      await node.prove({}, (await token({ addresses })).shown);
      const at50056 = (address: string) => node.register({ tags: [] }, { 'svc-node-grpc-address': address });
      for (const address of good) assert.equal((await at50056(address)).code, 'OK', address);
      for (const address of bad) refused(await at50056(address), 'join_token_addresses');
    });
  }

  test('a node that an operator removed needs one again', async () => {
    const { shown } = await token({ tags: ['gpu'] });
    const node = fresh();
    await node.prove({}, shown);
    assert.equal((await node.register({ tags: ['gpu'] }, HERE)).code, 'OK');
    await at.peers.remove(node.nodeId, OPERATOR);
    await at.joins.forget(node.nodeId);
    refused(await node.attest({}, shown), 'join_token_used_up');
    await node.prove({}, (await token({ tags: ['gpu'] })).shown);
  });

  test('a node that is refused for another reason uses up no token', async () => {
    const mine = fresh();
    await mine.prove({}, (await token({ tags: ['gpu'] })).shown);
    assert.equal((await mine.register({ tags: ['gpu'] }, HERE)).code, 'OK');
    const { shown, id } = await token();
    assert.equal((await fresh(mine.nodeId).attest({}, shown)).code, 'PERMISSION_DENIED');
    const { items } = await at.joinTokens.list({ limit: 100 });
    assert.equal(items.find((one) => one.id === id)?.used_by.length, 0);
  });

  test('an invalid request for a token is refused by its field', async () => {
    const wrong: readonly [NewJoinToken, RegExp][] = [
      [{ uses: 0 }, /: uses: expected/],
      [{ uses: 1.5 }, /: uses: expected/],
      [{ expiresInSeconds: 59 }, /: expires_in: expected/],
      [{ expiresInSeconds: 31 * 86_400 }, /: expires_in: expected/],
      [{ names: ['a b'] }, /: names: expected/],
      [{ tags: ['*'] }, /: tags: expected/],
      [{ addresses: ['10.0.0.0/33'] }, /: addresses: expected/],
      [{ addresses: ['10.0.0.0/8/8'] }, /: addresses: expected/],
    ];
    for (const [asked, says] of wrong) await assert.rejects(at.joinTokens.create(OPERATOR, asked), says);
  });

  test('no token is in a log, a record or an answer', async () => {
    const { shown } = await token();
    const node = fresh();
    await node.prove({}, shown);
    const refusal = await fresh().attest({}, shown);
    const { items } = await at.joinTokens.list({ limit: 1_000 });
    const said = [at.logged.join('\n'), JSON.stringify([at.audited, items]), refusal.details].join('\n');
    assert.ok(!said.includes(String(shown['svc-join-token']).slice(5)));
  });
});

test('a token counts on every controller, and after a restart', async () => {
  await using at = await fleetNode({ requireJoinToken: true });
  const { token } = await at.joinTokens.create(OPERATOR, {});
  const shown = { 'svc-join-token': token };
  const [here, there] = [new PageClient(at.address), new PageClient(await at.listenAs('node-2'))];
  const node = new IndependentWorker('w', here);
  await node.prove({}, shown);
  assert.equal((await new IndependentWorker('other', there).attest({}, shown)).code, 'PERMISSION_DENIED');
  for (const one of [here, there]) one.close();
});
