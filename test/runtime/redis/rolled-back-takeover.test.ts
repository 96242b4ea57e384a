import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import type { Partition } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { type PlacementChange, solePlacement } from '../../../runtime/locator.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { type Link, startLink } from '../../support/link.ts';
import { type ListedActor, listedActor, listedActorAt } from '../../support/listed-actor.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Fleet {
  readonly first: Runtime;
  /** Only the first node goes through it. */
  readonly link: Link;
  /** What each node logged. */
  readonly warnings: readonly [string[], string[]];
  readonly admin: Redis;
  listed(name: string): Promise<ListedActor | null>;
  /** The second node wants all partitions from now on, and knows that the first one is gone. */
  takeOver(): void;
  goBack(): Promise<void>;
}

/** Two nodes over a Redis that forgets what came after the last save. The first one serves everything. */
async function fleet(settings: RuntimeParts['settings'], use: (fleet: Fleet) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-went-back-'));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const server = await startRedis({ args: ['--appendonly', 'no'] });
  opened.defer(() => server.stop());
  const link = await startLink(server.port);
  opened.defer(() => link.close());
  const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
  await Promise.all([documents.open(), blobs.open()]);
  opened.defer(async () => {
    await Promise.all([documents.close(), blobs.close()]);
  });
  const warnings: [string[], string[]] = [[], []];
  let serving = 0;
  const wakes: ((change: PlacementChange) => void)[] = [];
  const start = async (at: 0 | 1, url: string): Promise<Runtime> => {
    const store = new RedisActorStore({ urls: url });
    await store.open();
    opened.defer(() => store.close());
    const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
    await effects.open();
    opened.defer(() => effects.close());
    const node = `node-${at}`;
    const sole = solePlacement(store, node, randomUUID());
    const assign = async () => (serving === at ? sole.assign() : { wanted: new Set<Partition>(), queues: [] });
    const onChange = (wake: (change: PlacementChange) => void) => {
      wakes.push(wake);
      return () => {};
    };
    const runtime = await startRuntime({
      ...{ store, documents, blobs, effects, node },
      definitions: [listedActor],
      handlers: [],
      placement: { ...sole, assign, onChange, isGone: async () => serving === 1 },
      settings: { partitions: 1, systemPartitions: 1, pollMs: 100, leaseRenewMs: 300, leaseTtlMs: 10_000, ...settings },
      warn: (message, error) => warnings[at].push(`${message}: ${String(error)}`),
    });
    opened.defer(() => runtime.stop());
    return runtime;
  };
  const first = await start(0, `redis://127.0.0.1:${link.port}`);
  await start(1, server.url);
  const admin = new Redis(server.url);
  opened.defer(async () => admin.disconnect());
  await use({
    ...{ first, link, warnings, admin },
    listed: async (name) =>
      (await documents.collection<ListedActor>({ name: 'listed', unique: [], indexes: [] })).get('acme', name),
    takeOver() {
      serving = 1;
      for (const wake of wakes) wake('members');
    },
    goBack: () => server.restart(),
  });
}

const BY_DOCUMENTS = /documents are ahead of default:0, the store is at \S+ at least 1 actor went back/;

/** The number of actors that each line about the partition says. */
const toldOf = (lines: readonly string[]): (string | undefined)[] =>
  lines.flatMap((line) => {
    const [, actors] = /default:0 was at entry \S+ the store is at \S+ (\d+) actors? went back/.exec(line) ?? [];
    return actors === undefined ? [] : [actors];
  });

describe('a partition that another node took after Redis lost its last writes', {
  skip: redisMissing() ?? false,
  timeout: 300_000,
}, () => {
  for (const sharedLogs of [false, true]) {
    const title = sharedLogs ? 'that adopted its log' : 'that took its lease';
    it(`a node ${title} logs what documents know, and the last holder exactly how many actors went back, once`, () =>
      fleet({ sharedLogs }, async ({ first, link, warnings, admin, listed, takeOver, goBack }) => {
        const meta = '{svc:default:0}:meta';
        const step = (name: string) => first.client.ask(listedActorAt(name), 'Step', {});
        for (const name of ['kept', 'ahead']) await step(name);
        if (sharedLogs) await waitUntil('it shares a log', async () => ((await admin.hget(meta, 'log')) ?? '') !== '');
        await admin.save();
        for (let n = 0; n < 3; n += 1) await step('ahead');
        await waitUntil('documents have it', async () => (await listed('ahead'))?.steps === 4);
        link.refuse();
        await goBack();
        takeOver();
        await waitUntil('the second node knows by documents', () =>
          warnings[1].some((line) => BY_DOCUMENTS.test(line)),
        );
        assert.deepEqual(warnings.map(toldOf), [[], []]);
        link.heal();
        await waitUntil('the first node knows exactly', () => toldOf(warnings.flat()).length > 0);
        assert.deepEqual(warnings.map(toldOf), [['1'], []]);
        assert.equal(
          warnings.flat().filter((line) => BY_DOCUMENTS.test(line)).length,
          1,
          JSON.stringify(warnings, null, 1),
        );
      }));
  }
});
