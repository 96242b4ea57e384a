import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import type { Json } from '../../runtime/json.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../runtime/runtime.ts';
import { counter, job, type WorkProbe, workEffect } from '../support/actors.ts';
import { eachNth } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The ports of one node on fresh data, and a function that opens the same data again, like a restart of that node. */
export interface KernelStores {
  open(): Promise<Pick<RuntimeParts, 'store' | 'documents' | 'blobs' | 'effects'> & { close(): Promise<void> }>;
  destroy(): Promise<void>;
}

/**
 * The promises of the kernel over any set of adapters: turns, replies, timers, effects, failures, archive. In a normal run
 * every `nth` promise, where other adapters of the same kind show all of them.
 */
export function kernelContract(name: string, make: () => Promise<KernelStores>, nth = 1): void {
  describe(`kernel on ${name}`, () => {
    const test = eachNth(nth);
    let stores: KernelStores;
    let ports: Awaited<ReturnType<KernelStores['open']>>;
    let runtime: Runtime;
    const probe: WorkProbe = { begun: [], aborted: [] };
    const warnings: string[] = [];

    const start = async (settings: RuntimeParts['settings'] = {}): Promise<void> => {
      ports = await stores.open();
      runtime = await startRuntime({
        ...ports,
        definitions: [counter, job],
        handlers: [workEffect(probe)],
        node: 'node-a',
        settings: {
          partitions: 4,
          systemPartitions: 1,
          // Any two inputs make two batches: one runs while the other is written.
          overlapMs: 0,
          retry: { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 },
          ...settings,
        },
        warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
      });
    };
    const stop = async (): Promise<void> => {
      await runtime.stop();
      await ports.close();
    };
    const restart = async (settings: RuntimeParts['settings'] = {}): Promise<void> => {
      await stop();
      await start(settings);
    };
    before(async () => {
      stores = await make();
      await start();
    });
    after(async () => {
      await stop();
      await stores.destroy();
    });

    const fresh = (kind: string): Address => addressOf(kind, 'acme', randomUUID());
    const ask = (to: Address, type: string, payload: Json = {}): Promise<Json> => runtime.client.ask(to, type, payload);
    const collect = async (address: Address, from = 0): Promise<ActorEvent[]> => {
      const events: ActorEvent[] = [];
      const stream = runtime.client.follow(address, from, { signal: AbortSignal.timeout(60_000), heartbeatMs: 5_000 });
      for await (const event of stream) if (event !== null) events.push(event);
      return events;
    };

    test('an ask is answered after its turn is committed', async () => {
      const to = fresh('counter');
      assert.equal(await ask(to, 'Add', { by: 2 }), 2);
      assert.equal(await ask(to, 'Add', { by: 3 }), 5);
      assert.deepEqual((await runtime.client.read(to))?.state, { value: 5, asks: 0, blob: '' });
    });

    test('messages of one sender to one actor are handled in order', async () => {
      const to = fresh('counter');
      const values = await Promise.all(Array.from({ length: 300 }, () => ask(to, 'Add', { by: 1 })));
      assert.deepEqual(
        values,
        Array.from({ length: 300 }, (_, index) => index + 1),
      );
      const events = await runtime.client.events(to, 0, 1_000);
      assert.deepEqual(
        events.map((event) => event.seq),
        values,
      );
    });

    test('a call repeated with the same id is handled once and answered twice', async () => {
      const to = fresh('counter');
      const messageId = randomUUID();
      const first = await runtime.client.ask(to, 'Add', { by: 7 }, { messageId });
      const second = await runtime.client.ask(to, 'Add', { by: 7 }, { messageId });
      assert.deepEqual([first, second], [7, 7]);
    });

    test('a refusal undoes the turn and names its code', async () => {
      const to = fresh('counter');
      await assert.rejects(ask(to, 'Refuse'), { code: 'failed_precondition', message: 'not now' });
      assert.deepEqual(await runtime.client.events(to, 0, 10), []);
    });

    test('a malformed message is refused with the field, an unknown one with its name', async () => {
      await assert.rejects(ask(fresh('counter'), 'Add', { by: 'x' }), { code: 'invalid_argument', message: /by/ });
      await assert.rejects(ask(fresh('counter'), 'Nope'), { code: 'invalid_argument', message: /Nope/ });
      await assert.rejects(ask(fresh('counter'), '__proto__'), { code: 'invalid_argument' });
    });

    test('a message to an unknown kind, or to an actor it cannot create, is refused as not found', async () => {
      await assert.rejects(ask(fresh('ghost'), 'Hello'), { code: 'not_found' });
      await assert.rejects(ask(fresh('job'), 'Stop'), { code: 'not_found' });
    });

    test('ids and random numbers of a turn come from its message alone', async () => {
      const to = fresh('counter');
      const messageId = randomUUID();
      const drawn = await runtime.client.ask(to, 'Draw', {}, { messageId });
      assert.ok(Array.isArray(drawn));
      assert.match(String(drawn[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.notEqual(drawn[0], drawn[1]);
    });

    test('actors of different partitions talk, each message arriving once', async () => {
      const from = fresh('counter');
      const targets = Array.from({ length: 20 }, () => randomUUID());
      for (const to of targets) await ask(from, 'Forward', { to, by: 4 });
      for (const to of targets) {
        const address = addressOf('counter', 'acme', to);
        await waitUntil('the forwarded message', async () => (await runtime.client.read(address)) !== null);
        assert.deepEqual((await runtime.client.read(address))?.state, { value: 4, asks: 0, blob: '' });
      }
      // One for each Forward, a hundred for each answer that came back.
      await waitUntil('all answers', async () => {
        const seen = await ask(from, 'Get');
        return typeof seen === 'object' && seen !== null && !Array.isArray(seen) && seen.asks === 2_020;
      });
    });

    test('a timer fires once, not before its time, and survives a restart', async () => {
      const to = fresh('counter');
      const late = fresh('counter');
      const setAt = Date.now();
      await ask(to, 'AddLater', { by: 1, afterMs: 60 });
      await ask(late, 'AddLater', { by: 1, afterMs: 400 });
      const [event] = await waitUntil('the timer', async () => {
        const events = await runtime.client.events(to, 0, 10);
        return events.length > 0 ? events : null;
      });
      assert.ok(event !== undefined && event.at - setAt >= 60, `fired after ${(event?.at ?? 0) - setAt} ms`);
      await restart();
      await waitUntil(
        'the timer set before the restart',
        async () => (await runtime.client.events(late, 0, 10)).length > 0,
      );
      assert.equal((await runtime.client.events(late, 0, 10)).length, 1);
    });

    test('a cleared timer never fires and a set one replaces its predecessor', async () => {
      const to = fresh('counter');
      await ask(to, 'AddLater', { by: 1, afterMs: 50 });
      await ask(to, 'AddLater', { by: 10, afterMs: 80 });
      const cleared = fresh('counter');
      await ask(cleared, 'AddLater', { by: 1, afterMs: 50 });
      await ask(cleared, 'Forget');
      await waitUntil('the replaced timer', async () => (await runtime.client.events(to, 0, 10)).length > 0);
      assert.deepEqual(
        (await runtime.client.events(to, 0, 10)).map((event) => event.payload),
        [{ by: 10, value: 10 }],
      );
      assert.deepEqual(await runtime.client.events(cleared, 0, 10), []);
    });

    test('a broken handler is retried, then dead-lettered; its actor and its neighbours continue', async () => {
      const broken = fresh('counter');
      await ask(broken, 'Add', { by: 1 });
      const buried = assert.rejects(ask(broken, 'Break', { times: 9 }), { code: 'dead_lettered' });
      const behind = ask(broken, 'Add', { by: 1 });
      const neighbours = await Promise.all(Array.from({ length: 20 }, () => ask(fresh('counter'), 'Add', { by: 1 })));
      assert.ok(neighbours.every((value) => value === 1));
      await buried;
      assert.equal(await behind, 2, 'the next message is handled, and nothing of the broken turn is stored');
      assert.equal((await runtime.client.read(broken))?.stuck, null);
    });

    test('an effect runs, reports its parts in order and its result once', async () => {
      const to = fresh('job');
      await ask(to, 'Run', { input: { parts: ['a', 'b', 'c'], value: { answer: 42 } } });
      const events = await collect(to);
      assert.deepEqual(
        events.map((event) => [event.seq, event.name]),
        [
          [1, 'started'],
          [2, 'part'],
          [3, 'part'],
          [4, 'part'],
          [5, 'ended'],
        ],
      );
    });

    test('an effect that fails for a while is tried again, one that cannot work fails once', async () => {
      const flaky = fresh('job');
      await ask(flaky, 'Run', { input: { failTimes: 2, value: 'ok' } });
      await collect(flaky);
      const state = await jobState(flaky);
      assert.deepEqual([state.status, state.attempts], ['done', 3]);
      const fatal = fresh('job');
      await ask(fatal, 'Run', { input: { fatal: true } });
      await collect(fatal);
      assert.equal((await jobState(fatal)).status, 'failed');
    });

    test('a cancel reaches the running effect', async () => {
      const to = fresh('job');
      await ask(to, 'Run', { input: { waitForAbort: true } });
      const effect = (await jobState(to)).effect ?? '';
      await waitUntil('the effect to begin', () => probe.begun.includes(effect));
      await ask(to, 'Stop');
      await waitUntil('the effect to be aborted', () => probe.aborted.includes(effect));
      assert.equal((await jobState(to)).status, 'stopped');
    });

    test('an ended actor is archived: it leaves the store, is read as before, and is never created again', async () => {
      const to = fresh('job');
      await ask(to, 'Run', { input: { parts: ['x'], value: 1 } });
      const events = await collect(to);
      await waitUntil('the archive', async () => (await runtime.client.read(to))?.archived === true);
      assert.deepEqual(await collect(to), events);
      assert.deepEqual(await collect(to, 2), events.slice(2));
      assert.deepEqual(await runtime.client.events(to, events.length, 10), []);
      await ask(to, 'Run', { input: { value: 2 } });
      assert.equal((await jobState(to)).result, 1);
      await assert.rejects(ask(to, 'Stop'), { code: 'failed_precondition' });
    });

    test('lists see a change within the promised lag', async () => {
      const to = fresh('job');
      await ask(to, 'Run', { input: { value: 1 } });
      await collect(to);
      const jobs = await ports.documents.collection({ name: 'jobs', unique: [], indexes: [['status']] });
      const id = to.split('/')[2] ?? '';
      await waitUntil('the list view', async () => jobs.get('acme', id));
      assert.equal(await jobs.get('other', id), null);
    });

    test('a payload over 64 KiB is stored separately, one over 16 MiB refused', async () => {
      const to = fresh('counter');
      const text = 'ä'.repeat(300_000);
      assert.equal(await ask(to, 'Fill', { text }), text);
      await restart();
      assert.deepEqual(await ask(to, 'Get'), { value: 0, asks: 0, blob: text.length });
      await assert.rejects(ask(to, 'Fill', { text: 'x'.repeat(17 * 1024 * 1024) }), { code: 'payload_too_large' });
    });

    test('a full mailbox refuses with a code of its own and loses nothing it accepted', async () => {
      await restart({ mailboxBound: 8 });
      const to = fresh('counter');
      const calls = await Promise.allSettled(Array.from({ length: 200 }, () => ask(to, 'Add', { by: 1 })));
      const accepted = calls.filter((call) => call.status === 'fulfilled').length;
      const refused = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason] : []));
      assert.ok(refused.every((reason) => reason.code === 'mailbox_full'));
      assert.equal((await runtime.client.read(to))?.lastEvent, accepted);
      assert.equal((await runtime.client.mailbox(to)).depth, 0);
      await restart();
    });

    test('idle actors leave memory and come back unchanged', async () => {
      await restart({ passivateAfterMs: 1, pollMs: 20 });
      const all = Array.from({ length: 50 }, () => fresh('counter'));
      for (const to of all) await ask(to, 'Add', { by: 3 });
      await waitUntil('idle actors to leave memory', () => runtime.activations() === 0);
      for (const to of all) assert.equal(await ask(to, 'Add', { by: 1 }), 4);
      await restart();
    });

    const jobState = async (address: Address) => {
      const snapshot = await runtime.client.read(address);
      return job.state.parse(snapshot?.state);
    };
  });
}
