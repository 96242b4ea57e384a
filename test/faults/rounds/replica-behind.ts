import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { seeded } from '../../support/faulty-store.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { type Link, startLink } from '../../support/link.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { LostWrites, RUNS_BEFORE, RUNS_LOST } from './lost-writes.ts';
import { idsAfter, markOf, positionsIn } from './store-loss.ts';

const caseOf = (nodes: number): FaultCase => ({
  name: nodes === 1 ? 'replica-behind' : `replica-behind-${nodes}-nodes`,
  title: `A replica that is 1 to 3 s behind becomes master under ${nodes} nodes, and no further call is made: the runs that it has end`,
  stores: ['redis'],
  open: (_store, seed) => ReplicaBehind.open(nodes, seed),
});

/** Nodes reach the present master through one port; each round promotes another server. */
class ReplicaBehind implements FaultStores {
  readonly #stack: AsyncDisposable;
  readonly #runs: LostWrites;
  readonly #front: Link;
  #master: RedisServer;

  static async open(count: number, _seed: number): Promise<FaultStores> {
    await using opened = new AsyncDisposableStack();
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    const master = await startRedis({ appendfsync: 'always' });
    const front = await startLink(master.port);
    opened.defer(() => front.close());
    const stores = { redis: `redis://127.0.0.1:${front.port}`, mongodb: mongo.uri };
    const runs = await LostWrites.open(count, stores, opened);
    return new ReplicaBehind(opened.move(), runs, front, master);
  }

  constructor(stack: AsyncDisposable, runs: LostWrites, front: Link, master: RedisServer) {
    this.#stack = stack;
    this.#runs = runs;
    this.#front = front;
    this.#master = master;
  }

  async round(seed: number): Promise<RoundOutcome> {
    const random = seeded(seed);
    const before = this.#master;
    const lengthsBefore = await this.#runs.logLengths();
    const cable = await startLink(before.port);
    const replica = await startRedis({
      appendfsync: 'always',
      args: ['--replicaof', '127.0.0.1', String(cable.port)],
    });
    const admin = new Redis(replica.url);
    try {
      await waitUntil('the replica is in step', async () =>
        (await admin.info('replication')).includes('master_link_status:up'),
      );
      const kept = await this.#runs.start(RUNS_BEFORE, random);
      const source = new Redis(before.url);
      await source.wait(1, 10_000);
      source.disconnect();
      // From here on the replica receives no writes, or only the first ones.
      const mark = await markOf(before);
      cable.refuse();
      const lagMs = 1_000 + random() * 2_000;
      const begun = performance.now();
      const late = await this.#runs.start(RUNS_LOST, random);
      await pause(Math.max(0, lagMs - (performance.now() - begun)));
      const had = await positionsIn(before.url);
      await before.kill();
      const loss = { had, stored: await positionsIn(replica.url), ids: await idsAfter(mark) };
      await admin.call('REPLICAOF', 'NO', 'ONE');
      this.#front.retarget(replica.port);
      this.#front.refuse();
      this.#front.heal();
      this.#master = replica;
      return await this.#runs.quietOutcome(replica.url, { kept, late }, loss, lengthsBefore);
    } finally {
      admin.disconnect();
      await cable.close();
      await before.stop();
    }
  }

  async close(): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
    await this.#master.stop();
  }
}

export const replicaBehind = caseOf(1);
export const replicaBehindTwoNodes = caseOf(2);
