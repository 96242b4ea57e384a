import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { BullmqEffectQueue } from '../../runtime/redis/bullmq-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import type { TestLedger } from '../support/memory-effect-ledger.ts';
import { PARTITION } from '../support/open-effect.ts';
import type { RedisServer } from '../support/redis.ts';
import { StoreEffectLedger } from '../support/store-effect-ledger.ts';
import type { QueueAdapter, Victim } from './effect-queue.ts';

const onFault = (error: unknown) => {
  throw error;
};

/** One Redis, or the masters of a Cluster. */
interface BullmqServers {
  readonly url: string;
  readonly nodes: readonly Pick<RedisServer, 'url'>[];
  stop(): Promise<void>;
}

export async function connect(ledger: TestLedger, urls: string): Promise<BullmqEffectQueue> {
  const queue = new BullmqEffectQueue({ urls, ledger, onFault });
  await queue.open();
  return queue;
}

/** A real process on the same Redis, killed with SIGKILL. */
async function victim(ledger: TestLedger, url: string): Promise<Victim> {
  const child = fork(new URL('../support/effect-node.ts', import.meta.url), [url]);
  await serveLedger(child, ledger);
  return {
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async lateResult(effectId) {
      await ledger.settleEffect(PARTITION, effectId, 1, { id: 'late', to: 'probe/acme/x', body: '{}' });
    },
  };
}

type Call = { readonly call: number; readonly method: 'claimEffect' | 'keepEffect'; readonly args: never };

function serveLedger(child: ChildProcess, ledger: TestLedger): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the node ended early with code ${code}`)));
    child.on('message', (message: Call | { readonly ready: true }) => {
      if ('ready' in message) return resolve();
      const answer: Promise<unknown> = Reflect.apply(ledger[message.method], ledger, message.args);
      answer.then((value) => child.connected && child.send({ call: message.call, value }), reject);
    });
  });
}

export function bullmqAdapter(name: string, startServers: () => Promise<BullmqServers>): QueueAdapter {
  let servers: BullmqServers;
  let ledgers = 0;
  return {
    name,
    start: async () => {
      servers = await startServers();
    },
    stop: () => servers.stop(),
    async ledger() {
      const store = new RedisActorStore({ urls: servers.url, prefix: `t${++ledgers}` });
      await store.open();
      return StoreEffectLedger.over(store, PARTITION);
    },
    connect: (ledger) => connect(ledger, servers.url),
    victim: (ledger) => victim(ledger, servers.url),
    async loseJobs() {
      const lost = await Promise.all(servers.nodes.map(({ url }) => loseJobsOf(url)));
      assert.ok(lost.includes(true), 'jobs wait in Redis');
    },
  };
}

async function loseJobsOf(url: string): Promise<boolean> {
  const admin = new Redis(url);
  const keys = await admin.keys('svc-effects:*');
  // One by one: on a Cluster keys of several queues are in different slots.
  for (const key of keys) await admin.del(key);
  await admin.quit();
  return keys.length > 0;
}
