import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { assertLogged, assertSequential, type RaceClient, race } from '../catalog/race-clients.ts';
import type { RaceAnswer, RaceCall, Seen } from '../catalog/race-model.ts';
import { SeededRandom } from '../kill/random.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';

const skip = serversMissing();
/** Identity of all callers on a node without an identity provider. */
const SUBJECT = 'local-operator';
/** With fewer steps one of the kinds of calls may not succeed at all. */
const CALLS_EACH = 40;
const YAML = { 'content-type': 'application/yaml' };

const Events = z.array(
  z.object({ sequence: z.number(), event_type: z.string(), payload: z.record(z.string(), z.unknown()) }),
);

/** One client of one node. */
function doorOf(node: ProductNode): RaceClient {
  return {
    subject: SUBJECT,
    async ask(name, call) {
      const answer = await sent(node, name, call);
      assert.ok(
        [200, 404, 409].includes(answer.status),
        `${answer.status} ${answer.text} ${node.process.log.slice(-2_000)}`,
      );
      return answerOf(call, answer);
    },
    async log(id) {
      const { status, body } = await node.call('GET', `/v1/agents/${id}/logs?limit=200`);
      return status === 200 ? Events.parse(body.events) : [];
    },
  };
}

function sent(node: ProductNode, name: string, call: RaceCall): Promise<Answer> {
  switch (call.kind) {
    case 'deploy': {
      const body = agentYaml(name, {}, call.version);
      return node.call('POST', `/v1/agents?scope=${call.scope}`, { body, headers: YAML });
    }
    case 'delete':
      return node.call('DELETE', `/v1/agents/${call.id}`);
    case 'status':
      return node.json('PATCH', `/v1/agents/${call.id}`, { status: call.status });
    case 'run':
      return node.json('POST', `/v1/agents/${call.id}/execute`, { intent: 'quick' });
    case 'move': {
      const asked = call.up ? { action: 'promote' } : { action: 'demote', user_id: call.owner };
      return node.json('POST', `/v1/agents/${call.id}/scope`, { ...asked, target_scope: call.to });
    }
    case 'look':
      return node.call('GET', `/v1/agents/lookup/${name}`);
  }
}

function answerOf(call: RaceCall, { status, text, body }: Answer): RaceAnswer {
  if (status === 404) return { kind: 'unknown' };
  if (status === 409) return { kind: 'refused', why: text };
  if (call.kind === 'look') return { kind: 'seen', seen: seenOf(body) };
  return call.kind === 'deploy' ? { kind: 'done', id: String(body.agent_id) } : { kind: 'done' };
}

function seenOf({ agent_id, version, scope, status }: Answer['body']): Seen {
  const oneOf = <T extends string>(choices: readonly T[], value: unknown): T =>
    choices.find((choice) => choice === value) ?? assert.fail(String(value));
  return {
    ...{ id: String(agent_id), version: String(version) },
    scope: oneOf(['user', 'tenant', 'global'], scope),
    status: oneOf(['deployed', 'paused', 'archived'], status),
  };
}

describe('8 clients on 2 nodes over one Redis and one MongoDB-wire server', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let nodes: readonly ProductNode[] = [];
  before(async () => {
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const spec = { kernel: { partitions: 32 }, stores: { redis: redis.url, mongodb: mongo.uri } };
    nodes = [await ProductNode.start({ spec }), await ProductNode.start({ spec })];
  });
  after(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    await Promise.all([redis.stop(), mongo.stop()]);
  });
  const connect = (count: number): RaceClient[] =>
    Array.from({ length: count / nodes.length }, () => nodes.map(doorOf)).flat();

  test('one of 50 concurrent creates of a name and version wins', async () => {
    const call = { kind: 'deploy', scope: 'tenant', version: '1.0.0' } as const;
    const answers = await Promise.all(connect(50).map((client) => client.ask('contested', call)));
    const kinds = answers.map(({ kind }) => kind).sort();
    assert.deepEqual(kinds, ['done', ...Array.from({ length: 49 }, () => 'refused')]);
  });

  test('create, delete, run, pause and promote at random: the catalog equals a sequential one, and so does its log', async () => {
    const clients = connect(8);
    const names = ['red', 'green'];
    const history = await race({ clients, names, callsEach: CALLS_EACH, random: new SeededRandom(7) });
    assertSequential(history);
    const events = await assertLogged(history, clients);
    assert.ok(events > 20, `${events} events`);
    for (const kind of ['deploy', 'delete', 'run', 'move', 'status'] as const) {
      const done = history.filter(({ call, answer }) => call.kind === kind && answer.kind === 'done');
      assert.ok(done.length > 0, `no ${kind} succeeded`);
    }
  });
});
