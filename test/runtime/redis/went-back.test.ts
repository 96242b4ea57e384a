import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { counter, job, type WorkProbe, workEffect } from '../../support/actors.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Scene {
  readonly runtime: Runtime;
  readonly store: RedisActorStore;
  readonly warnings: string[];
  readonly probe: WorkProbe;
  /** What the server has now is what it has when it comes back. */
  save(): Promise<void>;
  /** The server dies and comes back with what it had at the last `save`. */
  goBack(): Promise<void>;
  flushFunctions(): Promise<void>;
  valueAt(name: string): Promise<number | undefined>;
}

const one = addressOf('counter', 'acme', 'one');
const two = addressOf('counter', 'acme', 'two');

/** A kernel over a Redis that forgets what came after the last `save`; nothing but the tests asks it for anything. */
async function scene(use: (scene: Scene) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-went-back-'));
  const server: RedisServer = await startRedis({ args: ['--appendonly', 'no'] });
  const store = new RedisActorStore({ urls: server.url });
  const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
  const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
  await Promise.all([store.open(), documents.open(), blobs.open()]);
  await effects.open();
  const warnings: string[] = [];
  const probe: WorkProbe = { begun: [], aborted: [] };
  const runtime = await startRuntime({
    ...{ store, documents, blobs, effects, node: 'node-a' },
    definitions: [counter, job],
    handlers: [workEffect(probe)],
    settings: { partitions: 1, systemPartitions: 1, pollMs: 100, leaseRenewMs: 300, leaseTtlMs: 10_000 },
    warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
  });
  const admin = new Redis(server.url);
  try {
    await use({
      ...{ runtime, store, warnings, probe },
      async save() {
        await admin.save();
      },
      async goBack() {
        await server.restart();
        await waitUntil('the store answers', () => store.now().catch(() => false));
      },
      async flushFunctions() {
        await admin.call('FUNCTION', 'FLUSH');
      },
      async valueAt(name) {
        const read = await runtime.client.read(addressOf('counter', 'acme', name));
        return read === null ? undefined : counter.state.parse(read.state).value;
      },
    });
  } finally {
    admin.disconnect();
    await runtime.stop();
    await effects.close();
    await Promise.all([store.close(), documents.close(), blobs.close()]);
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

describe('a kernel whose Redis lost its last second, and then silence', {
  skip: redisMissing() ?? false,
  timeout: 120_000,
}, () => {
  it('what the store kept is handled though its holder was ahead, and the log says how many actors went back', () =>
    scene(async ({ runtime, save, goBack, valueAt, warnings }) => {
      await runtime.client.tell(one, 'AddLater', { by: 5, afterMs: 1_500 });
      await waitUntil('the timer is set', async () => (await runtime.client.read(one)) !== null);
      await save();
      for (let n = 0; n < 4; n += 1) await runtime.client.ask(two, 'Add', { by: 1 });
      await goBack();
      await waitUntil('the timer has fired and its message is handled', async () => (await valueAt('one')) === 5);
      assert.equal(await valueAt('two'), undefined, 'what the store lost did not happen');
      assert.deepEqual(
        warnings.filter((line) => line.includes('went back')).map((line) => /(\d+) actors went back/.exec(line)?.[1]),
        ['1'],
      );
    }));

  it('a timer that had fired fires again when the store lost that, also where nothing else was lost', () =>
    scene(async ({ runtime, store, save, goBack, valueAt }) => {
      await runtime.client.tell(one, 'AddLater', { by: 7, afterMs: 400 });
      await waitUntil('the timer is set', async () => (await runtime.client.read(one)) !== null);
      await save();
      await waitUntil('it has fired', async () => (await valueAt('one')) === 7);
      await goBack();
      await waitUntil('it has fired again', async () => {
        const { cursor, tail } = await store.backlog('default:0');
        return cursor === tail && (await valueAt('one')) === 7;
      });
    }));

  it('an effect whose end the store lost runs to its end again', () =>
    scene(async ({ runtime, save, goBack, probe }) => {
      const address = addressOf('job', 'acme', 'long');
      const input = { value: 3, failTimes: 1 };
      await runtime.client.ask(address, 'Run', { input });
      await save();
      const done = async () => job.state.safeParse((await runtime.client.read(address))?.state).data?.status === 'done';
      await waitUntil('the job is done', done);
      const before = probe.begun.length;
      await goBack();
      await waitUntil('it ran again', () => probe.begun.length > before, 20_000);
      await waitUntil('the job is done again', done, 20_000);
    }));

  it('functions that are flushed are no reason to take partitions anew', () =>
    scene(async ({ store, flushFunctions }) => {
      const lease = await store.acquire('spare:0', 'node-a', 'grant', 60_000);
      assert.ok(lease.kind === 'granted');
      await flushFunctions();
      const again = async () => (await store.poll([{ lease: lease.lease, after: 0 }], 10))[0];
      assert.deepEqual(await again(), []);
      await store.append('spare:0', [{ id: 'a', to: one, body: 'x' }], 10);
      assert.equal((await again())?.length, 1);
    }));
});
