import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { startMongo, type TestMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { serversMissing } from '../../support/servers-missing.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { ProductNode } from '../product-node.ts';
import { assertExplained, type Cause, type Planted, plantAlone, plantNested, runsIn, Why } from './planted-runs.ts';

const skip = serversMissing();

const tagged = (...target_tags: readonly string[]) => ({
  task: { prompt_template: 'x {{input}}' },
  execution: { target_tags },
});

const Cluster = z.looseObject({ node: z.looseObject({ node_id: z.string() }) });

const Approvals = z.looseObject({ pending_requests: z.array(z.object({ id: z.string(), execution_id: z.string() })) });

/** Number of runs that are planted until one of them is on the node that the test freezes. */
const MOST_PLANTED = 24;

describe('why a run waits: two nodes on one Redis', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let one: ProductNode;
  let other: ProductNode;
  let otherId = '';

  before(async () => {
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const spec = {
      kernel: { partitions: 8, lease_ttl_ms: 10_000, command_claim_ttl_ms: 300_000 },
      stores: { redis: redis.url, mongodb: mongo.uri },
    };
    one = await ProductNode.start({ spec });
    other = await ProductNode.start({ spec: { ...spec, node: { tags: ['gpu'] }, cluster: { role: 'worker' } } });
    otherId = Cluster.parse((await other.call('GET', '/v1/cluster/status')).body).node.node_id;
    // From now on each node serves about half of the actors.
    await waitUntil('the second node to serve actors', async () => {
      const { text } = await other.call('GET', '/v1/cluster/status');
      return /"partitions":\{[^}]*"default":[3-9]/.test(text);
    });
  });
  after(async () => {
    process.kill(redis.pid, 'SIGCONT');
    await one?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await redis.stop();
    await mongo.stop();
  });

  /** For a single run and three runs deep. */
  async function explained(cause: Cause): Promise<void> {
    await assertExplained(one, await plantAlone(one, cause), cause);
    assert.ok(runsIn(await assertExplained(one, await plantNested(one, cause), cause)).length >= 3);
  }

  test('a node of another version whose record cannot be read is the last cause', async () => {
    const client = new Redis(redis.url);
    const [members = ''] = await client.keys('*:members');
    const until = Date.now() + 600_000;
    await client.hset(members, 'newer-node', `${until}\nincarnation\nnot for this version`);
    await client.zadd(`{${members}}:due`, until, 'newer-node');
    await client.incr(`{${members}}:version`);
    await explained({
      name: 'a-newer-node',
      agent: tagged('tpu'),
      last: { kind: 'version', id: 'newer-node', of: 'node' },
      sentence: /for a node with tags tpu: node newer-node runs a version that this node cannot read\.$/,
    });
    await client.hdel(members, 'newer-node');
    await client.zrem(`{${members}}:due`, 'newer-node');
    await client.incr(`{${members}}:version`);
    client.disconnect();
  });

  const whyOf = async ({ kind, id }: Planted): Promise<Why> => {
    const path = `/v1/${kind === 'agent' ? 'executions' : 'workflows/executions'}/${id}/why`;
    return Why.parse((await one.call('GET', path)).body);
  };

  /** Plants until the last run of a chain fits. */
  async function plantedOn(
    plant: (name: string) => Promise<Planted>,
    name: string,
    fits: (why: Why) => Promise<boolean> | boolean,
  ): Promise<Planted> {
    for (let tries = 0; tries < MOST_PLANTED; tries += 1) {
      const planted = await plant(`${name}-${tries}`);
      const why = await waitUntil('its last cause', async () => {
        const seen = await whyOf(planted);
        const last = seen.chain.at(-1);
        return (
          (last?.kind === 'approval' ||
            (last?.kind === 'effect' && last.status === 'started' && last.effect === 'command.run')) &&
          seen
        );
      });
      if (await fits(why)) return planted;
    }
    return assert.fail(`none of ${MOST_PLANTED} runs is on node ${otherId}`);
  }

  const nestedOf =
    (state: object) =>
    async (name: string): Promise<Planted> => {
      await plantAlone(one, { name, state: { ...state }, last: { kind: '' }, sentence: /x/ });
      return plantNested(one, { name, state: { ...state }, last: { kind: '' }, sentence: /x/ });
    };

  const aloneOf =
    (state: object) =>
    (name: string): Promise<Planted> =>
      plantAlone(one, { name, state: { ...state }, last: { kind: '' }, sentence: /x/ });

  /** Whether the run that waits for an approval is on the other node. */
  async function servedByOther({ chain }: Why): Promise<boolean> {
    const innermost = chain.findLast(({ kind }) => kind === 'workflow' || kind === 'child');
    const { text } = await one.call('GET', `/v1/actors/workflow/${innermost?.id}`);
    return text.includes(`"node":"${otherId}"`);
  }

  test('a frozen node is the last cause: for messages that it does not handle, then for effects that it had begun', async () => {
    const gate = { kind: 'Human', prompt: 'Go on?' };
    const command = { kind: 'System', command: 'sleep 600' };
    const runsThere = ({ chain }: Why): boolean => chain.at(-1)?.node === otherId;
    const begun = [
      await plantedOn(aloneOf(command), 'alone-command', runsThere),
      await plantedOn(nestedOf(command), 'nested-command', runsThere),
    ];
    const gated = [
      await plantedOn(aloneOf(gate), 'alone-gate', servedByOther),
      await plantedOn(nestedOf(gate), 'nested-gate', servedByOther),
    ];
    const waitsFor = await Promise.all(gated.map(async (run) => (await whyOf(run)).chain.at(-1)?.id));
    const pending = () => one.call('GET', '/v1/human-approvals');
    await waitUntil('both approvals to be listed', async () => {
      const { text } = await pending();
      return waitsFor.every((id) => text.includes(String(id)));
    });
    process.kill(other.process.pid, 'SIGSTOP');
    try {
      const { pending_requests } = Approvals.parse((await pending()).body);
      for (const { id } of pending_requests.filter((one) => waitsFor.includes(one.id))) {
        assert.equal((await one.json('POST', `/v1/human-approvals/${id}/approve`, {})).status, 200);
      }
      for (const run of gated) {
        await assertExplained(
          one,
          run,
          {
            name: 'a-mailbox',
            last: { kind: 'mailbox', id: /workflow\//, node: otherId, oldest_at: /20/ },
            sentence: /its answer|messages? in its mailbox, the oldest since .+ UTC, which node \S+ has not handled\.$/,
          },
          // A tool call is an actor too, which may be on the frozen node.
          [],
        );
      }
      for (const run of begun) {
        await assertExplained(
          one,
          run,
          {
            name: 'a-failover',
            last: { kind: 'failover', id: otherId, until: /20/ },
            sentence:
              /for its command, attempt 1 on node \S+: node \S+ is gone; another node takes the work over by .+ UTC\.$/,
          },
          ['cli'],
        );
      }
    } finally {
      process.kill(other.process.pid, 'SIGCONT');
    }
  });

  test('a draining node that could serve the run is the last cause', async () => {
    await waitUntil('the other node to be a member again', async () =>
      (await one.call('GET', '/v1/cluster/status')).text.includes('"ACTIVE":2'),
    );
    const drained = await one.json('POST', `/v1/cluster/nodes/${otherId}/drain`, {});
    assert.ok(drained.status < 300, drained.text);
    await explained({
      name: 'a-draining-node',
      agent: tagged('gpu'),
      last: { kind: 'draining', id: otherId },
      sentence: /for a node with tags gpu: node \S+ could serve it, but drains\.$/,
    });
  });

  test('a store that does not answer is the last cause, within a second', async () => {
    const run = await plantAlone(one, {
      ...{ name: 'away', state: { kind: 'Human', prompt: 'Go on?' } },
      ...{ last: { kind: 'approval' }, sentence: /x/ },
    });
    const nested = await plantNested(one, {
      ...{ name: 'away', state: {} },
      ...{ last: { kind: 'approval' }, sentence: /x/ },
    });
    process.kill(redis.pid, 'SIGSTOP');
    try {
      for (const planted of [run, nested]) {
        await assertExplained(
          one,
          planted,
          {
            name: 'a-store',
            last: { kind: 'store', id: 'actors' },
            sentence:
              /^What run \S+ waits for could not be read because of the store of actors, which does not answer\.$/,
          },
          ['cli'],
        );
      }
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
  });
});
