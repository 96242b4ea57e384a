import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { type Collection, REMOVED_VERSION } from '../../../runtime/documents.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { counter, job, type WorkProbe, workEffect } from '../../support/actors.ts';
import { type ListedActor, listedActor, listedActorAt } from '../../support/listed-actor.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Setup {
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
  /** What the list has of an listedActor. */
  listed(name: string): Promise<ListedActor | null>;
  list(): Promise<Collection<ListedActor>>;
  readonly admin: Redis;
}

const one = addressOf('counter', 'acme', 'one');
const two = addressOf('counter', 'acme', 'two');

/** A kernel over a Redis that forgets what came after the last `save`; nothing but the tests asks it for anything. */
async function setup(
  use: (setup: Setup) => Promise<void>,
  settings: RuntimeParts['settings'] = { partitions: 1 },
): Promise<void> {
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
    definitions: [counter, job, listedActor],
    handlers: [workEffect(probe)],
    settings: { systemPartitions: 1, pollMs: 100, leaseRenewMs: 300, leaseTtlMs: 10_000, ...settings },
    warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
  });
  const admin = new Redis(server.url);
  const list = () => documents.collection<ListedActor>({ name: 'listed', unique: [], indexes: [] });
  try {
    await use({
      ...{ runtime, store, warnings, probe, admin },
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
      list,
      async listed(name) {
        return (await list()).get('acme', name);
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

describe('a kernel whose Redis lost its last second and then gets no new messages', {
  skip: redisMissing() ?? false,
  timeout: 300_000,
}, () => {
  it('messages that the store kept are handled though their holder was ahead; the log says how many actors went back', () =>
    setup(async ({ runtime, save, goBack, valueAt, warnings }) => {
      await runtime.client.tell(one, 'AddLater', { by: 5, afterMs: 1_500 });
      await waitUntil('the timer is set', async () => (await runtime.client.read(one)) !== null);
      await save();
      for (let n = 0; n < 4; n += 1) await runtime.client.ask(two, 'Add', { by: 1 });
      await goBack();
      await waitUntil('the timer has fired and its message is handled', async () => (await valueAt('one')) === 5);
      assert.equal(await valueAt('two'), undefined, 'what the store lost did not happen');
      // Of the pool of the system nothing went back; where it shares the log that is said too.
      const told = warnings.filter((line) => line.includes('default:0 was at') && line.includes('went back'));
      assert.deepEqual(
        told.map((line) => /(\d+) actors? went back/.exec(line)?.[1]),
        ['1'],
      );
    }));

  it('each partition of a shared log logs how many of its own actors went back, also when one message was lost', () =>
    setup(
      async ({ runtime, store, save, goBack, valueAt, warnings, admin }) => {
        const names = Array.from({ length: 8 }, (_, n) => `shared-${n}`);
        const add = (name: string) => runtime.client.ask(addressOf('counter', 'acme', name), 'Add', { by: 1 });
        await Promise.all(names.map(add));
        await waitUntil('partitions share a log', async () => {
          const logs = await Promise.all([0, 1, 2, 3].map((n) => admin.hget(`{svc:default:${n}}:meta`, 'log')));
          return logs.every((log) => (log ?? '') !== '');
        });
        const told = (): string[] =>
          warnings.flatMap((line) => /(\S+) was at entry \S+ the store is at \S+ \d+ actors?/.exec(line)?.[0] ?? []);
        for (const lost of [names.slice(0, 1), names]) {
          await save();
          const before = await Promise.all(names.map(valueAt));
          warnings.length = 0;
          await Promise.all(lost.map(add));
          await goBack();
          await waitUntil(
            'the partitions are served again',
            async () => (await store.backlog('default:0')) && add('again'),
          );
          await waitUntil('all say so', () => told().length >= 4);
          const counts = told().map((line) => Number(/(\d+) actors?/.exec(line)?.[1]));
          assert.equal(
            counts.reduce((sum, count) => sum + count, 0),
            lost.length,
            told().join('; '),
          );
          assert.equal(new Set(told().map((line) => line.split(' ')[0])).size, told().length, told().join('; '));
          assert.deepEqual(await Promise.all(names.map(valueAt)), before);
        }
      },
      { partitions: 4 },
    ));

  it('a list that is ahead of the store is corrected from the states, and continues from there', () =>
    setup(async ({ runtime, save, goBack, listed, list }) => {
      const step = () => runtime.client.ask(listedActorAt('one'), 'Step', {});
      await step();
      await runtime.client.ask(listedActorAt('removed'), 'Step', {});
      await save();
      for (let n = 0; n < 3; n += 1) await step();
      await waitUntil('the list has all steps', async () => (await listed('one'))?.steps === 4);
      // One whose removal has begun is not listed again.
      await (await list()).put({ tenant: 'acme', id: 'removed', version: REMOVED_VERSION, steps: 0, ended: true });
      await goBack();
      await waitUntil('the list has what the store kept', async () => (await listed('one'))?.steps === 1);
      await runtime.client.ask(listedActorAt('one'), 'End', {});
      await waitUntil('the list has its end', async () => (await listed('one'))?.ended === true);
      assert.equal((await listed('removed'))?.version, REMOVED_VERSION);
    }));

  it('an actor of which the store lost everything is not listed any more, and those that it kept are', () =>
    setup(async ({ runtime, save, goBack, listed }) => {
      const step = (name: string) => runtime.client.ask(listedActorAt(name), 'Step', {});
      await step('kept');
      await save();
      await step('lost');
      await waitUntil(
        'both are listed',
        async () => (await listed('kept')) !== null && (await listed('lost')) !== null,
      );
      await goBack();
      await waitUntil('what was lost is not listed', async () => (await listed('lost')) === null);
      assert.equal((await listed('kept'))?.steps, 1);
      await step('lost');
      await waitUntil('begun again it is listed', async () => (await listed('lost'))?.steps === 1);
    }));

  it('an actor is not listed any more when the store lost it with all else of its partition', () =>
    setup(
      async ({ runtime, save, goBack, listed, store }) => {
        await save();
        await runtime.client.ask(listedActorAt('lost'), 'Step', {});
        await waitUntil('it is listed', async () => (await listed('lost')) !== null);
        await goBack();
        assert.deepEqual(await store.recorded('default:0'), []);
        await waitUntil('it is not listed any more', async () => (await listed('lost')) === null);
      },
      { partitions: 1, sharedLogs: false },
    ));

  it('an ended actor that the store restores has no timer left', () =>
    setup(async ({ runtime, save, goBack, warnings, listed, admin }) => {
      await runtime.client.ask(listedActorAt('one'), 'Step', {});
      await save();
      await runtime.client.ask(listedActorAt('one'), 'End', {});
      const isRecorded = async () => (await admin.hexists('{svc:default:0}:states', listedActorAt('one'))) === 1;
      await waitUntil('it is archived', async () => (await listed('one'))?.ended === true && !(await isRecorded()));
      await goBack();
      await waitUntil('it is closed', () => warnings.some((line) => /actors? of this partition had ended/.test(line)));
      await waitUntil('its record is gone', async () => !(await isRecorded()));
      assert.equal(await admin.zcard('{svc:default:0}:timers'), 0);
      assert.equal(await admin.hlen('{svc:default:0}:timer-bodies'), 0);
      assert.equal((await listed('one'))?.ended, true);
    }));

  it('a fired timer fires again when the store lost that commit, also when it lost nothing else', () =>
    setup(async ({ runtime, store, save, goBack, valueAt }) => {
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
    setup(async ({ runtime, save, goBack, probe, warnings }) => {
      const input = { value: 3, failTimes: 1 };
      const isDone = async (address: Address) =>
        job.state.safeParse((await runtime.client.read(address))?.state).data?.status === 'done';
      /** False: the job was done when it was saved, or its end was archived before the store lost it. Neither runs again. */
      const runsAgain = async (): Promise<boolean> => {
        const address = addressOf('job', 'acme', randomUUID());
        await runtime.client.ask(address, 'Run', { input });
        await save();
        if (await isDone(address)) return false;
        await waitUntil('the job is done', () => isDone(address));
        const [begun, told] = [probe.begun.length, warnings.length];
        await goBack();
        const isClosed = () =>
          warnings.slice(told).some((line) => line.includes('actors that the archive has as ended were closed'));
        await waitUntil('it ran again, or its end stands', () => probe.begun.length > begun || isClosed());
        if (isClosed()) return false;
        await waitUntil('the job is done again', () => isDone(address));
        return true;
      };
      await waitUntil('a job ran again', runsAgain, 60_000);
    }));

  it('functions that are flushed are no reason to take partitions anew', () =>
    setup(async ({ store, flushFunctions }) => {
      const lease = await store.acquire('spare:0', 'node-a', 'grant', 60_000);
      assert.ok(lease.kind === 'granted');
      await flushFunctions();
      const again = async () => (await store.poll([{ lease: lease.lease, after: 0 }], 10))[0];
      assert.deepEqual(await again(), []);
      await store.append('spare:0', [{ id: 'a', to: one, body: 'x' }], 10);
      assert.equal((await again())?.length, 1);
    }));
});
