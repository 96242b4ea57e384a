import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { LEDGER, type LedgerSegment } from '../../../runtime/ledger/segments.ts';
import { connectClient, type Runtime } from '../../../runtime/runtime.ts';
import { createPayloads } from '../../../runtime/turns/payload.ts';
import { type LedgerLine, replayActor } from '../../../runtime/turns/replay.ts';
import { readLedger } from '../../contract/actor-lines.ts';
import { seeded } from '../../support/faulty-store.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { sample } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { heap, LARGE, PARTITIONS, RETRY, slowActorsRuntime } from './slow-actors-runtime.ts';

/** They take longer than storing a large result. */
const STEPS = 200;

const seedsOf = (usual: number): number[] => {
  if (process.env.SVC_SEED !== undefined) return [Number(process.env.SVC_SEED)];
  return Array.from({ length: Number(process.env.SVC_HISTORIES ?? usual) }, (_, n) => n + 1);
};

describe('actors that are slow to load', { skip: redisMissing() ?? false }, () => {
  let server: RedisServer;
  let directory: string;
  before(async () => {
    server = await startRedis();
    directory = await mkdtemp(join(tmpdir(), 'svc-slow-'));
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const setup = (packs?: boolean) => slowActorsRuntime(server, directory, packs);

  const large = addressOf('heap', 'acme', 'large');
  const others = Array.from({ length: 20 }, (_, n) => addressOf('heap', 'acme', `o${n}`));
  const hear = (runtime: Pick<Runtime, 'client'>, to: Address, n: number) =>
    runtime.client.ask(to, 'Hear', { n }, { timeoutMs: 30_000 });

  /** A node that shares a log, whose actor `large` is not in memory. */
  async function begin(at: Awaited<ReturnType<typeof slowActorsRuntime>>, node = 'node-a') {
    const runtime = await at.start(node);
    await at.shared();
    await runtime.client.ask(large, 'Grow', { chars: LARGE });
    assert.ok(await runtime.dropActor(large));
    return runtime;
  }

  test('an actor whose state is slow to read delays no other, and its own messages are handled in order', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const answers = Promise.all(Array.from({ length: 30 }, (_, n) => hear(runtime, large, n)));
    await waitUntil('its state is being read', () => at.reads.waiting > 0);
    for (const n of [1, 2, 3]) for (const to of others) await hear(runtime, to, n);
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 30);
    const depths = await Promise.all(at.names.map((name) => at.store.depth(name, large)));
    assert.equal(Math.max(...depths), 30, 'they count as waiting');
    at.reads.open();
    assert.deepEqual(
      (await answers).at(-1),
      Array.from({ length: 30 }, (_, n) => n),
    );
    assert.equal(await at.postponed(), 0);
    assert.deepEqual(
      await hear(runtime, large, 30),
      Array.from({ length: 31 }, (_, n) => n),
    );
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('an actor whose state is slow to write delays no other, and its messages are handled once', async () => {
    const at = await setup();
    const runtime = await begin(at);
    assert.deepEqual(await hear(runtime, large, 0), [0]);
    at.writes.close();
    const answers = Promise.all([1, 2, 3].map((n) => hear(runtime, large, n)));
    await waitUntil('its state is being written', () => at.writes.waiting > 0);
    for (const n of [1, 2, 3]) for (const to of others) await hear(runtime, to, n);
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 3);
    const { messages, next } = await runtime.client.waiting(large, { limit: 2 });
    const more = await runtime.client.waiting(large, { limit: 2, from: next ?? undefined });
    assert.deepEqual(
      [...messages, ...more.messages].map(({ reason, message }) => [reason, message.payload]),
      [1, 2, 3].map((n) => ['postponed', { n }]),
    );
    at.writes.open();
    assert.deepEqual((await answers).at(-1), [0, 1, 2, 3]);
    assert.equal(await at.postponed(), 0);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('a message whose body is slow to be read keeps its place before those behind it', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const [to = large] = others;
    const text = 'x'.repeat(LARGE);
    const tell = (n: number) => runtime.client.tell(to, 'Large', { n, text });
    await tell(1);
    await waitUntil('its body is being read', () => at.reads.waiting > 0);
    await runtime.client.tell(to, 'Hear', { n: 2 });
    await tell(3);
    const answer = hear(runtime, to, 4);
    for (const n of [1, 2, 3]) for (const other of others.slice(1)) await hear(runtime, other, n);
    at.reads.open();
    assert.deepEqual(await answer, [1, 2, 3, 4]);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('a message keeps its place before one that was appended with it and can be read at once', async () => {
    const at = await setup();
    const runtime = await begin(at);
    const [to = large] = others;
    await hear(runtime, to, 0);
    const home = await runtime.client.partitionOf(to);
    const payloads = createPayloads(at.common.blobs);
    const message = (type: string, payload: Json) => ({
      ...{ id: randomUUID(), to, from: null, cause: null, trace: 'ab'.repeat(16), origin: 'client' },
      ...{ type, payload },
    });
    const first = message('Large', { n: 1, text: 'x'.repeat(LARGE) });
    const second = message('Hear', { n: 2 });
    at.reads.close();
    const bodies = [await payloads.spill(to, JSON.stringify(first)), JSON.stringify(second)];
    await at.store.append(
      home,
      [first, second].map(({ id }, n) => ({ id, to, body: bodies[n] ?? '' })),
      100,
    );
    await waitUntil('both are postponed', async () => (await at.postponed()) === 2);
    at.reads.open();
    assert.deepEqual(await hear(runtime, to, 3), [0, 1, 2, 3]);
    await runtime.stop();
    await at.close();
  });

  test('while the store of large payloads is down only actors that need it wait', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.isAway = () => true;
    const answers = Promise.all([1, 2].map((n) => hear(runtime, large, n)));
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 2);
    for (const n of [1, 2, 3]) for (const to of others) await hear(runtime, to, n);
    at.reads.open();
    assert.deepEqual((await answers).at(-1), [1, 2]);
    assert.match(at.warnings.join(), /messages? waits? for the states of 1 actor\b/);
    await runtime.stop();
    await at.close();
  });

  test('the result of an effect that ran here is handled once, though its actor is slow', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.work.close();
    await runtime.client.ask(large, 'Work', {});
    await waitUntil('the effect runs', () => at.work.waiting > 0);
    // It leaves memory for these, and its effect runs on.
    for (const to of others) await hear(runtime, to, 1);
    at.reads.close();
    at.work.open();
    await waitUntil('its result is postponed', async () => (await at.postponed()) === 1);
    at.reads.open();
    assert.deepEqual(await hear(runtime, large, 1), [100, 1]);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('a large result of an effect that ran ahead of its commit is handled once, though it is slow to be read', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const [to = large, stepper = large, ...more] = others;
    // Handled by one batch, that goes on as long as the other's steps take.
    const work = (of: Address, what: Json) => runtime.client.ask(of, 'Work', what);
    await Promise.all([work(to, { ahead: true, chars: LARGE }), work(stepper, { ahead: true, steps: STEPS })]);
    await waitUntil('its result is being read', () => at.reads.waiting > 0);
    for (const other of more) await hear(runtime, other, 1);
    at.reads.open();
    const heard = async () => heap.state.parse((await runtime.client.read(to))?.state).heard;
    await waitUntil('the result is handled', async () => (await heard()).includes(100));
    assert.deepEqual([await heard(), at.work.begun], [[100], STEPS + 2]);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('no message is postponed while a node of an older format may take the partition', async () => {
    const at = await setup(false);
    const runtime = await at.start('node-a');
    await runtime.client.ask(large, 'Grow', { chars: LARGE });
    assert.ok(await runtime.dropActor(large));
    at.reads.close();
    const answer = hear(runtime, large, 1);
    await waitUntil('its state is being read', () => at.reads.waiting > 0);
    const home = await runtime.client.partitionOf(large);
    const neighbours = await Promise.all(others.map(async (to) => [to, await runtime.client.partitionOf(to)] as const));
    const [neighbour] = neighbours.flatMap(([to, partition]) => (partition === home ? [to] : []));
    assert.ok(neighbour);
    const later = hear(runtime, neighbour, 1);
    for (const [to, partition] of neighbours) if (partition !== home) await hear(runtime, to, 1);
    assert.equal(await at.postponed(), 0);
    at.reads.open();
    assert.deepEqual([await answer, await later], [[1], [1]]);
    await runtime.stop();
    await at.close();
  });

  test('a node that stops hands its postponed messages over, and the next one handles them first', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const client = await connectClient({ ...at.common, settings: at.pools, store: at.store });
    for (const n of [1, 2, 3]) await client.tell(large, 'Hear', { n });
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 3);
    await runtime.stop();
    assert.equal(await at.postponed(), 3);
    for (const n of [4, 5]) await client.tell(large, 'Hear', { n });
    at.reads.open();
    const next = await at.start('node-b');
    assert.deepEqual(await hear(next, large, 6), [1, 2, 3, 4, 5, 6]);
    await at.shared();
    assert.equal(await at.postponed(), 0);
    client.close();
    await next.stop();
    await at.close();
  });

  test('a partition whose shared log was closed continues with the postponed messages', async () => {
    const at = await setup();
    const runtime = await begin(at);
    const log = await at.shared();
    at.reads.close();
    const answers = Promise.all([1, 2].map((n) => hear(runtime, large, n)));
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 2);
    const home = await runtime.client.partitionOf(large);
    at.unwanted.add(at.names.find((name) => name !== home) ?? home);
    await waitUntil('the log is closed', async () => !((await at.store.sharedLogs?.list()) ?? []).includes(log));
    const last = hear(runtime, large, 3);
    at.reads.open();
    assert.deepEqual(await answers, [[1], [1, 2]]);
    assert.deepEqual(await last, [1, 2, 3]);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('a message that was postponed and fails is dead-lettered, and those behind it are handled', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const broken = runtime.client.ask(large, 'Break', {}, { timeoutMs: 30_000 });
    const failed = assert.rejects(broken, { code: 'dead_lettered' });
    await waitUntil('its state is being read', () => at.reads.waiting > 0);
    const answer = hear(runtime, large, 1);
    at.reads.open();
    await failed;
    assert.deepEqual(await answer, [1]);
    await runtime.stop();
    await at.close();
  });

  test('a postponed message whose commit is refused is handled under the next lease', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const answers = Promise.all([1, 2].map((n) => hear(runtime, large, n)));
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 2);
    at.fenced.push('resumed', 'resumed');
    at.reads.open();
    assert.deepEqual(await answers, [[1], [1, 2]]);
    assert.equal(at.fenced.length, 0);
    await runtime.stop();
    await at.close();
  });

  test('a node that dies leaves its postponed messages to the next one, which handles them once and in order', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const client = await connectClient({ ...at.common, settings: at.pools, store: at.store });
    for (const n of [1, 2, 3]) await client.tell(large, 'Hear', { n });
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 3);
    at.cut.add('node-a');
    for (const n of [4, 5]) await client.tell(large, 'Hear', { n });
    const next = await at.start('node-b');
    for (const to of others) await hear(next, to, 1);
    await waitUntil('its later messages are postponed too', async () => (await at.postponed()) === 5);
    const answer = hear(next, large, 6);
    at.reads.open();
    assert.deepEqual(await answer, [1, 2, 3, 4, 5, 6]);
    client.close();
    await Promise.all([runtime.stop(), next.stop()]);
    await at.close();
  });

  test('each delivery is in the ledger once, and replaying them gives the state', async () => {
    const at = await setup();
    const runtime = await begin(at);
    at.reads.close();
    const answers = Promise.all([1, 2, 3].map((n) => hear(runtime, large, n)));
    await waitUntil('its messages are postponed', async () => (await at.postponed()) === 3);
    at.reads.open();
    await answers;
    await runtime.stop();
    const homes = await Promise.all(
      at.names.map(async (name) => ((await at.store.load(name, [large]))[0] === null ? [] : [name])),
    );
    const [partition] = homes.flat();
    assert.ok(partition);
    const lines: LedgerLine[] = [];
    const payloads = createPayloads(at.common.blobs);
    for await (const line of readLedger(at.documents, payloads, { tenant: 'acme', address: large, partition })) {
      lines.push(line);
    }
    assert.deepEqual(
      lines.map(({ message }) => message.type),
      ['Grow', 'Hear', 'Hear', 'Hear'],
    );
    const segments = await at.documents.collection<LedgerSegment>(LEDGER);
    assert.equal(await segments.count({ tenant: 'svc-system' }), 0, 'nor is it there under no name');
    const replayed = await replayActor(heap, large, lines, { retry: RETRY });
    assert.deepEqual(replayed.record.state, { text: 'x'.repeat(LARGE), heard: [1, 2, 3], steps: 0 });
    await at.close();
  });

  for (const seed of seedsOf(sample({ normal: 1, long: 3 })))
    test(`slow reads and writes, lost leases and adopted logs: each message once, in order (SVC_SEED=${seed})`, async () => {
      const random = seeded(seed);
      const pick = (below: number): number => Math.floor(random() * below);
      const at = await setup();
      const runtime = await at.start('node-a');
      await at.shared();
      const actors = Array.from({ length: 6 }, (_, n) => addressOf('heap', 'acme', `r${n}`));
      // Half of them are large.
      for (const to of actors.slice(3)) await runtime.client.ask(to, 'Grow', { chars: LARGE });
      at.reads.delayMs = () => (random() < 0.3 ? pick(60) : 0);
      at.reads.isAway = () => random() < 0.05;
      at.writes.delayMs = () => (random() < 0.2 ? pick(60) : 0);
      let isOver = false;
      const disturbing = (async () => {
        while (!isOver) {
          await new Promise((resume) => setTimeout(resume, 30 + pick(120)));
          const [log] = (await at.store.sharedLogs?.list()) ?? [];
          const dice = random();
          if (dice < 0.15 && log !== undefined) await at.store.sharedLogs?.adopt(log, 'node-a', randomUUID(), 1);
          else if (dice < 0.3) runtime.dropPartition(at.names[pick(PARTITIONS)] ?? 'default:0');
          else for (const to of actors) if (random() < 0.5) await runtime.dropActor(to);
        }
      })();
      await Promise.all(
        actors.flatMap((to, a) =>
          [0, 1].map(async (client) => {
            for (let n = 0; n < 40; n += 1) {
              const told = { n: client * 1_000 + n };
              // Named, so that a repeat is known again.
              const messageId = `${seed}-${a}-${client}-${n}`;
              await insist(() => runtime.client.tell(to, 'Hear', told, { messageId }));
              await new Promise((resume) => setTimeout(resume, pick(30)));
            }
          }),
        ),
      );
      isOver = true;
      await disturbing;
      at.reads.open();
      at.writes.open();
      for (const to of actors) {
        const heard = await insist(() => hear(runtime, to, 9_999));
        const numbers = z.array(z.number()).parse(heard).slice(0, -1);
        for (const client of [0, 1]) {
          const own = numbers.filter((n) => Math.floor(n / 1_000) === client);
          assert.deepEqual(
            own,
            Array.from({ length: 40 }, (_, n) => client * 1_000 + n),
            `${to}, client ${client}`,
          );
        }
      }
      assert.equal(await at.postponed(), 0);
      await runtime.stop();
      await at.close();
    });
});

async function insist<T>(call: () => Promise<T>): Promise<T> {
  return waitUntil('the call is taken', async () => {
    try {
      return [await call()] as const;
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'unavailable') return null;
      throw thrown;
    }
  }).then(([value]) => value);
}
