import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AppendOutcome } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { Keys, Routes, SLOT_TAGS } from '../../../runtime/redis/keys.ts';
import { PackWriter } from '../../../runtime/redis/pack-writer.ts';
import { ServerTimes } from '../../../runtime/redis/wake-ups.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITION: Partition = 'default:0';
const to = addressOf('counter', 'acme', 'one');
const BOUND = 100;

interface Call {
  readonly name: string;
  readonly args: readonly (string | number)[];
  answer(reply: unknown): Promise<void>;
  fail(): Promise<void>;
}

type AppendNamed = ConstructorParameters<typeof PackWriter>[0]['appendNamed'];

const notNamed: AppendNamed = async () => assert.fail('nothing is appended by its id');

/** A writer over calls that the test answers. Each pack is sent alone, as in turns of the event loop of its own. */
function underTest({ hasTags = false, appendNamed = notNamed } = {}) {
  const keys = new Keys('svc');
  if (hasTags) keys.useTags();
  const calls: Call[] = [];
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const writer = new PackWriter({
    clock: new HandClock(),
    keys,
    times: new ServerTimes(async () => 1_000, true),
    routes: new Routes(),
    appendNamed,
    calls: {
      callLate(name, _home, write) {
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        const args: (string | number)[] = [];
        setImmediate(() => {
          write([], args);
          calls.push({
            name,
            args,
            async answer(reply) {
              resolve(reply);
              await settle();
            },
            async fail() {
              reject(new SvcError('unavailable', 'the connection closed'));
              await settle();
            },
          });
        });
        return promise;
      },
    },
  });
  const append = (id: string, body = id, ageMs = 0) =>
    writer.append(PARTITION, { id, to, body, fresh: true, awaited: true }, BOUND, ageMs);
  const next = async (): Promise<Call> => {
    await settle();
    await settle();
    const call = calls.shift();
    assert.ok(call, 'a call was sent');
    return call;
  };
  /** How many messages and bytes each pack of these bodies has, in the order of their calls. */
  const packed = async (bodies: readonly string[]): Promise<{ messages: unknown; bytes: number }[]> => {
    const appended = bodies.map((body, n) => append(String(n), body));
    await settle();
    await settle();
    const sizes = calls.map(({ args }) => ({ messages: args[4], bytes: Buffer.byteLength(String(args[7])) }));
    for (const [n, call] of calls.splice(0).entries()) await call.answer([n * 1_000 + 1, 1_000, 'life']);
    await Promise.all(appended);
    return sizes;
  };
  return { append, next, calls, packed, writer };
}

const unavailable = { code: 'unavailable' };

test('a message that was written while its answer was lost is not appended by its repeat', async () => {
  const { append, next, calls } = underTest();
  const first = assert.rejects(append('a'), unavailable);
  await (await next()).fail();
  await first;
  const again = append('a');
  const close = await next();
  assert.equal(close.name, 'close_writer');
  await close.answer(1);
  assert.deepEqual(await again, { kind: 'accepted', seq: 0 });
  assert.equal(calls.length, 0);
});

test('a message that was not written is sent again by another writer', async () => {
  const { append, next } = underTest();
  const first = assert.rejects(append('a'), unavailable);
  const lost = await next();
  await lost.fail();
  await first;
  const again = append('a');
  await (await next()).answer(0);
  const resent = await next();
  assert.equal(resent.name, 'append_pack');
  assert.notEqual(resent.args[0], lost.args[0]);
  assert.equal(resent.args[1], 1);
  await resent.answer([7, 1_000, 'life']);
  assert.deepEqual(await again, { kind: 'accepted', seq: 7 });
});

test('a writer that one caller closes still answers callers that reopen it later', async () => {
  const { append, next, calls } = underTest();
  const first = assert.rejects(append('a'), unavailable);
  const one = await next();
  const later = append('b');
  const two = await next();
  assert.deepEqual([one.args[1], two.args[1]], [1, 2]);
  await one.fail();
  await first;
  // The second pack arrived first: the server misses the one before it.
  await two.answer([-2, 1_000, 'life']);
  const close = await next();
  assert.equal(close.name, 'close_writer');
  await close.answer(1);
  const resent = await next();
  await resent.answer([9, 1_000, 'life']);
  assert.deepEqual(await later, { kind: 'accepted', seq: 9 });
  // Its pack had been written after all.
  assert.deepEqual(await append('a'), { kind: 'accepted', seq: 0 });
  assert.equal(calls.length, 0);
});

test('a message that was appended by its id while the answer was lost is repeated by its id', async () => {
  const named: { readonly id: string; readonly ageMs: number; answer(outcome: AppendOutcome | null): void }[] = [];
  const { append, next, calls } = underTest({
    appendNamed(_partition, { id }, _bound, ageMs) {
      const { promise, resolve, reject } = Promise.withResolvers<AppendOutcome>();
      const answer = (outcome: AppendOutcome | null) =>
        outcome === null ? reject(new SvcError('unavailable', 'the connection closed')) : resolve(outcome);
      named.push({ id, ageMs, answer });
      return promise;
    },
  });
  const first = assert.rejects(append('a'), unavailable);
  // An actor of the pack may be over its bound, so each of its messages is appended by itself.
  await (await next()).answer([-1, 1_000, 'life']);
  named.shift()?.answer(null);
  await first;
  const again = assert.rejects(append('a', 'a', 70), unavailable);
  assert.deepEqual([named[0]?.id, named[0]?.ageMs, calls.length], ['a', 70, 0]);
  named.shift()?.answer(null);
  await again;
  const last = append('a', 'a', 900);
  named.shift()?.answer({ kind: 'duplicate', reply: null });
  assert.deepEqual(await last, { kind: 'duplicate', reply: null });
  assert.equal(calls.length, 0);
});

test('a message whose caller left keeps no memory of its body, and a repeat that brings it is sent whole', async () => {
  const { append, next, writer } = underTest();
  const large = async (id: string): Promise<WeakRef<object>> => {
    const delivery = { id, to, body: 'a', fresh: true };
    const failed = assert.rejects(writer.append(PARTITION, delivery, BOUND, 0), unavailable);
    await (await next()).fail();
    await failed;
    return new WeakRef(delivery);
  };
  const kept = [await large('a'), await large('b')];
  setFlagsFromString('--expose_gc');
  const collect: unknown = runInNewContext('gc');
  assert.ok(typeof collect === 'function');
  await waitUntil('the messages to be collected', () => {
    collect();
    return kept.every((one) => one.deref() === undefined);
  });
  const again = append('a');
  await (await next()).answer(0);
  const resent = await next();
  assert.deepEqual([resent.name, resent.args[7]], ['append_pack', 'a']);
  await resent.answer([7, 1_000, 'life']);
  assert.deepEqual(await again, { kind: 'accepted', seq: 7 });
});

test('a pack has at most 256 messages; those of the same tick beyond them go into the next one', async () => {
  const { packed } = underTest();
  assert.deepEqual(await packed(Array.from({ length: 600 }, () => 'x')), [
    { messages: 256, bytes: 256 },
    { messages: 256, bytes: 256 },
    { messages: 88, bytes: 88 },
  ]);
});

test('a pack ends before 128 KiB of UTF-8; a longer message is a pack of its own', async () => {
  const { packed } = underTest();
  const [long, half, over] = [100, 64, 200].map((kilo) => 'x'.repeat(kilo * 1_024));
  assert.ok(long !== undefined && half !== undefined && over !== undefined);
  assert.deepEqual(await packed([half, half, 'x', long, half, over, 'x']), [
    { messages: 2, bytes: 128 * 1_024 },
    { messages: 2, bytes: 100 * 1_024 + 1 },
    { messages: 1, bytes: 64 * 1_024 },
    { messages: 1, bytes: 200 * 1_024 },
    { messages: 1, bytes: 1 },
  ]);
  const third = '√'.repeat(43 * 1_024);
  assert.deepEqual(await packed([third, third]), [
    { messages: 1, bytes: 129 * 1_024 },
    { messages: 1, bytes: 129 * 1_024 },
  ]);
});

test('where a server has several logs, messages share a pack while most callers of the last ones wait', async () => {
  const { append, next, calls, writer } = underTest({ hasTags: true });
  const ids = Array.from({ length: 2 * SLOT_TAGS }, (_, n) => `m${n}`);
  const first = ids.map((id) => append(id));
  await (await next()).answer([1, 1_000, 'life']);
  await Promise.all(first);
  const later = ['a', 'b'].map((id) => append(id));
  await new Promise<void>((resolve) => setImmediate(resolve));
  later.push(append('c'));
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(calls.length, 0);
  for (const id of ids) writer.answered(id);
  const together = await next();
  assert.equal(together.args[4], 3);
  await together.answer([40, 1_000, 'life']);
  assert.deepEqual(
    await Promise.all(later),
    [40, 41, 42].map((seq) => ({ kind: 'accepted', seq })),
  );
});
