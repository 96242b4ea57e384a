import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import type { TierLimits } from '../../../security/api.ts';
import { ended, request } from '../grpc/call.ts';
import { grpcServer } from '../grpc/grpc-server.ts';
import { MANIFEST, namedUsers, restServer } from './rest-server.ts';

/** Allows this many starts, then none. */
function tickets(count: number) {
  const asked: string[] = [];
  const tierLimits: TierLimits = {
    async take({ tenant, subject }, what, units = 1) {
      asked.push(`${tenant}/${subject} ${what} ${units}`);
      if (asked.length > count)
        throw new SvcError('rate_limited', `at most ${count} ${what} per hour; try again later.`, {
          retryAfterMs: 61_500,
        });
    },
  };
  return { asked, tierLimits };
}

describe('limits of starts', () => {
  test('over REST the start beyond them is 429 with Retry-After and creates nothing', async () => {
    const { asked, tierLimits } = tickets(1);
    await using at = await restServer({ tierLimits, authenticator: namedUsers });
    const { agent_id } = await at.agents.deploy({ tenant: 'alice' }, MANIFEST, { force: false });
    const start = (headers = {}) =>
      at.postJson('/v1/executions', { agent_id, input: 'x' }, { authorization: 'Bearer alice', ...headers });
    assert.equal((await start()).status, 200);
    const refused = await start();
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '62');
    assert.match(refused.text, /at most 1 agent_executions per hour/);
    assert.deepEqual(asked, ['alice/a agent_executions 1', 'alice/a agent_executions 1']);
    assert.equal(at.executions.starts.length, 1);
  });

  test('a start that is repeated under its key is not counted again', async () => {
    const { asked, tierLimits } = tickets(1);
    await using at = await restServer({ tierLimits, authenticator: namedUsers });
    const { agent_id } = await at.agents.deploy({ tenant: 'alice' }, MANIFEST, { force: false });
    const headers = { authorization: 'Bearer alice', 'idempotency-key': 'once' };
    const answers = [];
    for (let n = 0; n < 3; n += 1) answers.push(await at.postJson('/v1/executions', { agent_id, input: 'x' }, headers));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(asked.length, 1);
  });

  test('an unknown agent is not counted', async () => {
    const { asked, tierLimits } = tickets(1);
    await using at = await restServer({ tierLimits, authenticator: namedUsers });
    const unknown = { agent_id: '00000000-0000-4000-8000-000000000000', input: 'x' };
    assert.equal((await at.postJson('/v1/executions', unknown, { authorization: 'Bearer alice' })).status, 404);
    assert.deepEqual(asked, []);
  });

  test('over gRPC the start beyond them is RESOURCE_EXHAUSTED and creates nothing', async () => {
    const { tierLimits } = tickets(0);
    await using at = await grpcServer({}, { tierLimits });
    const run = await ended(at.client.executeAgent(request(at.agentId)));
    assert.equal(run.code, 'RESOURCE_EXHAUSTED');
    assert.equal(at.executions.starts.length, 0);
  });
});
