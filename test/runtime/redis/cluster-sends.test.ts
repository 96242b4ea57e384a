import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import type { Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { Keys, SLOT_TAGS } from '../../../runtime/redis/keys.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { slotOf } from '../../../runtime/redis/slot-channels.ts';
import { commitOf, eventually } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../../support/redis-cluster.ts';
import { type RedisWire, startRedisWire } from '../../support/redis-wire.ts';

const TTL_MS = 600_000;
const to = addressOf('thing', 'acme', 'one');
const [SOURCE, TARGET] = [0, 1];

/** First slot, last slot, and the port of the server that has them. */
const slots = z.array(z.tuple([z.number(), z.number(), z.tuple([z.string(), z.number()]).rest(z.unknown())]));

/** What happened before the copy came. */
const BETWEEN: Readonly<Record<string, (sent: Sent) => Promise<void>>> = {
  'at once': async () => {},
  'after a later message was handed over': (sent) => sent.handOver(),
  'after another node took the source': async ({ store, source }) => {
    await taken(store, source.log, 'node-b', source.grant);
  },
  'after another node took the target and handled the message': async ({ store, target }) => {
    const lease = await taken(store, target.log, 'node-b', target.grant);
    const handled = [{ address: to, count: 1 }];
    assert.equal((await store.commit(commitOf(lease, 0, 1, { handled }), 0)).kind, 'committed');
  },
  'after the master of the target was started again': (sent) => sent.restart(TARGET, sent.target),
  'after the master of the source was started again, without the turn that sent it': (sent) =>
    sent.restart(SOURCE, sent.source),
};

async function taken(store: RedisActorStore, partition: Partition, node: string, over?: string) {
  const outcome = await store.acquire(partition, node, randomUUID(), TTL_MS, over);
  assert.ok(outcome.kind === 'granted');
  return outcome.lease;
}

/** A message that one partition sent to another, which has it. */
class Sent {
  readonly servers: RedisClusterServers<RedisWire>;
  readonly store: RedisActorStore;
  readonly source: Lease<Partition>;
  readonly target: Lease<Partition>;
  #cursor = 0;

  constructor(
    servers: RedisClusterServers<RedisWire>,
    store: RedisActorStore,
    source: Lease<Partition>,
    target: Lease<Partition>,
  ) {
    this.servers = servers;
    this.store = store;
    this.source = source;
    this.target = target;
  }

  async save(server: number): Promise<void> {
    const admin = new Redis({ port: this.servers.nodes[server]?.port ?? 0 });
    await admin.save();
    admin.disconnect();
  }

  /** A turn of the source sends a message to the target, which gets it. */
  async handOver(): Promise<void> {
    const { store, source, target } = this;
    await store.append(source.log, [{ id: randomUUID(), to, body: 'ask' }], 100);
    const sends = [{ partition: target.log, delivery: { id: randomUUID(), to, body: 'sent' } }];
    const commit = commitOf(source, this.#cursor, this.#cursor + 1, { sends });
    assert.equal((await store.commit(commit, 0)).kind, 'committed');
    this.#cursor += 1;
    assert.equal(await store.flushOutbox(source), false);
  }

  /** With what it had when it was saved. */
  async restart(server: number, { log }: Lease): Promise<void> {
    await this.servers.nodes[server]?.restart();
    await eventually(`the master of ${log} answers again`, () =>
      this.store.backlog(log).then(
        () => true,
        () => false,
      ),
    );
  }
}

describe('a message between partitions on two masters of a Redis Cluster', { skip: redisMissing() ?? false }, () => {
  let servers: RedisClusterServers<RedisWire>;
  before(async () => {
    // Without a file of appends a server that is started again has what was saved.
    servers = await startRedisCluster({
      wire: (port) => startRedisWire(port, () => 1),
      args: ['--appendonly', 'no'],
    });
  });
  after(() => servers.stop());

  /** A partition whose keys are on a server. */
  async function partitionOn(server: number, prefix: string): Promise<Partition> {
    const admin = new Redis({ port: servers.nodes[0]?.port ?? 0 });
    const ranges = slots.parse(await admin.call('CLUSTER', 'SLOTS'));
    admin.disconnect();
    const keys = new Keys(prefix);
    keys.useTags();
    for (let n = 0; n < SLOT_TAGS; n += 1) {
      const slot = slotOf(keys.of(`default:${n}`).meta);
      const range = ranges.find(([first, last]) => first <= slot && slot <= last);
      if (range?.[2][1] === servers.wires[server]?.port) return `default:${n}`;
    }
    assert.fail(`no partition of ${prefix} is on server ${server}`);
  }

  for (const [when, between] of Object.entries(BETWEEN)) {
    test(`is there once, when a copy of its delivery comes ${when}`, async (run) => {
      const prefix = `t${randomBytes(4).toString('hex')}`;
      const store = new RedisActorStore({ urls: servers.url, prefix });
      run.after(() => store.close());
      await store.open();
      const [source, target] = [await partitionOn(SOURCE, prefix), await partitionOn(TARGET, prefix)];
      const sent = new Sent(servers, store, await taken(store, source, 'node-a'), await taken(store, target, 'node-a'));
      await sent.save(SOURCE);
      const recording = servers.wires[TARGET]?.record();
      await sent.handOver();
      const copies = recording?.stop();
      await sent.save(TARGET);
      await between(sent);
      const there = await store.backlog(target);
      assert.ok(there.tail > 0);
      await copies?.();
      assert.deepEqual(await store.backlog(target), there);
    });
  }
});
