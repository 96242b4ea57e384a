import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { ATTEST_ROWS } from '../../transport/seal/attest-rows.ts';
import { ENVELOPE_ROWS } from '../../transport/seal/envelope-rows.ts';
import { type Identified, IndependentAgent } from './independent-agent.ts';
import { SealNode } from './seal-node.ts';
import type { SealClient } from './transports.ts';

describe('each condition of the SEAL tables, on a node, over both transports and both addresses', () => {
  let at: SealNode;
  let running: Identified;
  let ended: Identified;
  let clients: readonly SealClient[];
  before(async () => {
    at = await SealNode.start();
    clients = [at.rest(), at.grpc(), at.internalRest(), at.internalGrpc()];
    running = await at.begin('bound');
    ended = await at.begin('bound');
    await at.node.json('POST', `/v1/executions/${ended.execution_id}/cancel`, {});
    await waitUntil('the execution has ended', async () => {
      const { status } = await at.node.statusOf(ended.execution_id);
      return status === 'cancelled';
    });
  });
  after(() => at[Symbol.asyncDispose]());

  describe('of a call', () => {
    /** Sessions of the execution `one`, which may have 64. */
    let sessions = 0;
    let one: Identified;
    async function withRoom(): Promise<Identified> {
      if (sessions % 60 === 0) one = await at.begin('bound');
      sessions += 1;
      return one;
    }

    for (const { what, is, reason, message, runs = 0, envelope } of ENVELOPE_ROWS) {
      const [http, rpc, grpc] = is;
      test(`${what} is ${http} ${rpc ?? ''} over REST and ${grpc} over gRPC`, async () => {
        for (const client of clients) {
          const agent = await at.attested(await withRoom(), clients[0] ?? assert.fail());
          const answer = await client.invoke(envelope(agent));
          const shown = `${client.name}: ${answer.text}`;
          assert.equal(answer.status, client.transport === 'REST' ? http : grpc, shown);
          if (client.transport === 'REST') assert.equal(answer.rpcCode ?? null, rpc, shown);
          assert.equal(answer.reason, reason, shown);
          if (message !== undefined) assert.match(answer.message, message, shown);
          assert.equal(answer.retryAfter, false, shown);
          const { bodies } = await at.audit(agent.sessionId);
          assert.equal(bodies.filter(({ kind }) => kind === 'ended').length, runs, shown);
        }
      });
    }
  });

  describe('of an attestation', () => {
    const attest = async (is: Identified, client: SealClient, fields: Readonly<Record<string, unknown>> = {}) => {
      const answer = await client.attest(new IndependentAgent(is), fields);
      assert.equal(answer.token === '', ![200, 'OK'].includes(answer.status), answer.message);
      return answer;
    };

    for (const { what, is, message, fields } of ATTEST_ROWS) {
      test(`${what} is ${is[0]} over REST and ${is[1]} over gRPC`, async () => {
        for (const client of clients.slice(0, 2)) {
          const more = fields?.(client.transport);
          const answer = await attest(running, client, more);
          assert.equal(answer.status, is[client.transport === 'REST' ? 0 : 1], answer.message);
          if (message !== undefined) assert.match(answer.message, message);
        }
      });
    }

    test('an execution that has ended is 409 over REST and FAILED_PRECONDITION over gRPC', async () => {
      for (const client of clients.slice(0, 2)) {
        const { status, message } = await attest(ended, client);
        assert.equal(status, client.transport === 'REST' ? 409 : 'FAILED_PRECONDITION');
        assert.match(message, /not running/);
      }
    });

    test('no caller attests on the internal address without the token of the execution', async () => {
      for (const client of clients.slice(2)) {
        const { status } = await attest(running, client);
        assert.equal(status, client.transport === 'REST' ? 401 : 'UNAUTHENTICATED');
      }
    });

    test('that token attests its own execution there, and nothing else', async () => {
      const { is, url } = await at.beginProgram();
      const token = url.split('/x/')[1] ?? '';
      const bearer = { authorization: `Bearer ${token}` };
      const ways = [
        (who: Identified, fields?: object) => at.internalRest(url).attest(new IndependentAgent(who), { ...fields }),
        (who: Identified, fields?: object) =>
          at.internalRest().attest(new IndependentAgent(who), { ...fields }, bearer),
        (who: Identified, fields?: object) =>
          at.internalGrpc().attest(new IndependentAgent(who), { ...fields }, bearer),
      ];
      for (const [index, way] of ways.entries()) {
        const [good, denied] = index < 2 ? [200, 403] : ['OK', 'PERMISSION_DENIED'];
        assert.equal((await way(is)).status, good);
        assert.equal((await way(running)).status, denied);
        assert.equal((await way(is, { agent_id: running.agent_id })).status, denied);
        assert.equal((await way(is, { container_id: 'c0ffee' })).status, denied);
      }
      const forged = await at
        .internalRest(`${at.internalUrl}/x/${token.slice(0, -4)}AAAA`)
        .attest(new IndependentAgent(is));
      assert.equal(forged.status, 401);
    });
  });

  test('a token that has expired is 401 -32000 over REST and UNAUTHENTICATED over gRPC', async () => {
    const agent = await at.attested(await at.begin('short'), clients[0] ?? assert.fail());
    for (const client of clients) {
      const isRest = client.transport === 'REST';
      const expired = await waitUntil('the token has expired', async () => {
        const answer = await client.invoke(agent.call(1, 'fs.read', { path: 'none' }));
        return /expired/.test(answer.message) && answer;
      });
      assert.deepEqual([expired.status, expired.rpcCode], isRest ? [401, -32000] : ['UNAUTHENTICATED', undefined]);
    }
    const { bodies } = await at.audit(agent.sessionId);
    assert.equal(bodies.at(-1)?.kind, 'closed');
  });

  test('an execution has 64 sessions at most; an ended one is another error', async () => {
    const is = await at.begin('bare');
    const [rest = assert.fail(), grpc = assert.fail()] = clients;
    for (let session = 0; session < 64; session += 1) await at.attested(is, rest);
    for (const [client, status] of [
      [rest, 409],
      [grpc, 'RESOURCE_EXHAUSTED'],
    ] as const) {
      const refused = await client.attest(new IndependentAgent(is));
      assert.equal(refused.status, status);
      assert.match(refused.message, /the maximum of sessions/);
    }
    await at.node.json('POST', `/v1/executions/${is.execution_id}/cancel`, {});
    for (const [client, status] of [
      [rest, 409],
      [grpc, 'FAILED_PRECONDITION'],
    ] as const) {
      const refused = await client.attest(new IndependentAgent(is));
      assert.equal(refused.status, status);
      assert.match(refused.message, /the execution is not running$/);
    }
  });
});
