import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { partitionsOf } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { agentYaml, ProductNode } from '../../product/product-node.ts';
import { seeded } from '../../support/faulty-store.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const RUNS_BEFORE = 24;
/** Starts while the replica hears nothing: the store loses them. */
const RUNS_IN_LAG = 12;
const QUIET_WITHIN_MS = 60_000;
const ENDED = new Set(['completed', 'failed', 'cancelled']);

const caseOf = (nodes: number): FaultCase => ({
  name: nodes === 1 ? 'replica-behind' : `replica-behind-${nodes}-nodes`,
  title: `A replica that is 1 to 3 s behind becomes master under ${nodes} nodes, and nothing more is asked: what it had ends`,
  stores: ['redis'],
  rounds: 20,
  open: (_store, seed) => ReplicaBehind.open(nodes, seed),
});

/** Nodes reach whichever server is master through one port; each round makes another one master. */
class ReplicaBehind implements FaultWorld {
  readonly #world: AsyncDisposable;
  readonly #nodes: readonly ProductNode[];
  readonly #agent: string;
  readonly #front: TcpProxy;
  #master: RedisServer;

  static async open(count: number, _seed: number): Promise<FaultWorld> {
    await using opened = new AsyncDisposableStack();
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    const master = await startRedis({ appendfsync: 'always' });
    const front = await startTcpProxy(master.port);
    opened.defer(() => front.close());
    const stores = { redis: `redis://127.0.0.1:${front.port}`, mongodb: mongo.uri };
    const nodes: ProductNode[] = [];
    for (let at = 0; at < count; at += 1) {
      const node = await ProductNode.start({ spec: { kernel: { partitions: 16 }, stores } });
      opened.use(node);
      nodes.push(node);
    }
    const agent = (await nodes[0]?.deploy(agentYaml('talker'))) ?? '';
    return new ReplicaBehind(opened.move(), nodes, agent, front, master);
  }

  constructor(
    world: AsyncDisposable,
    nodes: readonly ProductNode[],
    agent: string,
    front: TcpProxy,
    master: RedisServer,
  ) {
    this.#world = world;
    this.#nodes = nodes;
    this.#agent = agent;
    this.#front = front;
    this.#master = master;
  }

  async round(seed: number): Promise<RoundOutcome> {
    const random = seeded(seed);
    const before = this.#master;
    const cable = await startTcpProxy(before.port);
    const replica = await startRedis({
      appendfsync: 'always',
      args: ['--replicaof', '127.0.0.1', String(cable.port)],
    });
    const admin = new Redis(replica.url);
    try {
      await waitUntil('the replica is in step', async () =>
        (await admin.info('replication')).includes('master_link_status:up'),
      );
      const kept = await this.#start(RUNS_BEFORE, random);
      const source = new Redis(before.url);
      await source.wait(1, 10_000);
      source.disconnect();
      cable.refuse();
      const lagMs = 1_000 + random() * 2_000;
      const begun = performance.now();
      const inLag = await this.#start(RUNS_IN_LAG, random);
      await pause(Math.max(0, lagMs - (performance.now() - begun)));
      await before.kill();
      await admin.call('REPLICAOF', 'NO', 'ONE');
      this.#front.retarget(replica.port);
      this.#front.refuse();
      this.#front.accept();
      this.#master = replica;
      return await this.#silence(kept, inLag);
    } finally {
      admin.disconnect();
      await cable.close();
      await before.stop();
    }
  }

  async close(): Promise<void> {
    await this.#world[Symbol.asyncDispose]();
    await this.#master.stop();
  }

  #start(count: number, random: () => number): Promise<string[]> {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const node = this.#nodes[at % this.#nodes.length];
        return (await node?.run(this.#agent, random() < 0.5 ? 'slow' : 'steady')) ?? '';
      }),
    );
  }

  /** Only looks, nothing is asked of any actor. */
  async #silence(kept: readonly string[], inLag: readonly string[]): Promise<RoundOutcome> {
    const begun = performance.now();
    const ids = [...kept, ...inLag];
    const store = new RedisActorStore({ urls: this.#master.url });
    await store.open();
    let open: string[] = [];
    let unread: string[] = [];
    let gone: string[] = [];
    const look = async (): Promise<boolean> => {
      const found = await Promise.all(ids.map((id) => this.#statusOf(id)));
      open = ids.filter((_, at) => !ENDED.has(found[at] ?? '') && found[at] !== 'gone');
      gone = ids.filter((_, at) => found[at] === 'gone');
      const partitions = (await store.pools()).flatMap((pool) => partitionsOf(pool));
      const backlogs = await Promise.all(partitions.map((partition) => store.backlog(partition)));
      unread = partitions.filter((_, at) => (backlogs[at]?.tail ?? 0) > (backlogs[at]?.cursor ?? 0));
      return open.length === 0 && unread.length === 0;
    };
    const quiet = await waitUntil('all is quiet', look, QUIET_WITHIN_MS).catch(() => false);
    const recoveryMs = performance.now() - begun;
    await store.close();
    const wentBack = this.#nodes.flatMap((node) => node.process.log.match(/\d+ actors went back/g) ?? []);
    return {
      runs: ids.length,
      hung: open.length,
      nodesEnded: this.#nodes.filter((node) => node.process.crashed).length,
      lost: gone.filter((id) => kept.includes(id)).length,
      repeated: 0,
      recoveryMs: quiet === false ? null : recoveryMs,
      notes: [
        `the store lost ${gone.length} of ${inLag.length} runs that were begun while the replica heard nothing`,
        `so far ${wentBack.length} takeovers were logged with actors that went back`,
        ...unread.map((partition) => `${partition} is not read to its tail`),
      ],
    };
  }

  /** A look that the failover cut is repeated. */
  async #statusOf(id: string): Promise<string> {
    const [node] = this.#nodes;
    const answer = await node?.call('GET', `/v1/executions/${id}`).catch(() => undefined);
    if (answer?.status === 404) return 'gone';
    return answer?.status === 200 ? String(answer.body.status) : 'unknown';
  }
}

export const replicaBehind = caseOf(1);
export const replicaBehindTwoNodes = caseOf(2);
