import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { z } from 'zod';
import { type ActorStore, changesOf } from '../../runtime/actor-store.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { Json } from '../../runtime/json.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { FaultyStore } from '../support/faulty-store.ts';
import { eachNth } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { KernelStores } from './kernel.ts';

/** Its messages are small and its state has the requested size, so only states are stored separately. */
const heap = defineActor({
  kind: 'heap',
  version: 1,
  state: z.object({ text: z.string(), steps: z.number(), over: z.boolean() }),
  initial: () => ({ text: '', steps: 0, over: false }),
  messages: { Grow: z.object({ chars: z.number() }), Step: z.object({}), End: z.object({}), Break: z.object({}) },
  events: {},
  on: {
    Grow: (state, { chars }) => ({ ...state, text: 'x'.repeat(chars) }),
    Step: (state) => ({ ...state, steps: state.steps + 1 }),
    End: (state) => ({ ...state, over: true }),
    Break() {
      throw new Error('this handler is broken');
    },
  },
  done: ({ over }) => over,
});
const scrap = defineActor({ ...heap, kind: 'scrap', keepsArchive: false });

const LARGE_CHARS = 100 * 1_024;
const KEPT_MS = 300;
const LONG_MS = 60_000;

/** Records which states were stored, and whether a record names those that were deleted. */
class Watched {
  readonly stored = new Set<string>();
  /** Deleted although a commit that succeeded, before or after, names them. */
  readonly wrong: string[] = [];
  /** The next commits are answered with `fenced` and not made. */
  fence = 0;
  fenced = 0;
  readonly #named = new Map<Address, string>();
  readonly #deleted = new Set<string>();

  blobs(inner: Blobs): Blobs {
    return {
      open: () => inner.open(),
      close: () => inner.close(),
      get: (tenant, ref) => inner.get(tenant, ref),
      deleteOwned: (tenant, owner) => inner.deleteOwned(tenant, owner),
      put: async (tenant, bytes, owner) => {
        const ref = await inner.put(tenant, bytes, owner);
        this.stored.add(ref);
        return ref;
      },
      delete: async (tenant, ref) => {
        const text = `@${tenant}/${ref}`;
        if ([...this.#named.values()].includes(text)) this.wrong.push(ref);
        this.#deleted.add(text);
        await inner.delete(tenant, ref);
      },
    };
  }

  store(inner: ActorStore): ActorStore {
    const commit: ActorStore['commit'] = async (wanted, readAhead) => {
      const records = changesOf(wanted).flatMap((changes) => changes.records);
      if (this.fence > 0 && records.length > 0) {
        this.fence -= 1;
        this.fenced += 1;
        return { kind: 'fenced' };
      }
      const outcome = await inner.commit(wanted, readAhead);
      if (outcome.kind === 'committed') for (const { address, record } of records) this.#note(address, record);
      return outcome;
    };
    const forget: ActorStore['forget'] = async (lease, after, addresses, partition) => {
      const done = await inner.forget(lease, after, addresses, partition);
      if (done) for (const address of addresses) if (address.startsWith('scrap/')) this.#note(address, null);
      return done;
    };
    return Object.assign(new FaultyStore(inner, { seed: 1 }), { commit, forget });
  }

  #note(address: Address, record: string | null): void {
    if (record === null) this.#named.delete(address);
    else this.#named.set(address, record);
    if (record !== null && this.#deleted.has(record)) this.wrong.push(record);
  }
}

/**
 * Storage of states over 64 KiB, which are stored separately at every commit (K7). In a normal run every `nth` promise, where
 * other adapters show all of them.
 */
export function largeStatesContract(name: string, make: () => Promise<KernelStores>, nth = 1): void {
  describe(`large states on ${name}`, () => {
    const test = eachNth(nth);
    let stores: KernelStores;
    let ports: Awaited<ReturnType<KernelStores['open']>>;
    let runtime: Runtime;
    const watched = new Watched();
    const warnings: string[] = [];

    const start = async (replacedStatesKeptMs = KEPT_MS): Promise<void> => {
      ports = await stores.open();
      runtime = await startRuntime({
        ...ports,
        store: watched.store(ports.store),
        blobs: watched.blobs(ports.blobs),
        definitions: [heap, scrap],
        handlers: [],
        node: 'node-a',
        settings: {
          partitions: 4,
          systemPartitions: 1,
          pollMs: 50,
          leaseRenewMs: 50,
          replacedStatesKeptMs,
          retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 20 },
        },
        warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
      });
    };
    const stop = async (): Promise<void> => {
      await runtime.stop();
      await ports.close();
    };
    const restart = async (replacedStatesKeptMs?: number): Promise<void> => {
      await stop();
      await start(replacedStatesKeptMs);
    };
    before(async () => {
      stores = await make();
      await start();
    });
    after(async () => {
      await stop();
      await stores.destroy();
      assert.deepEqual(watched.wrong, [], 'nothing was deleted that a record names');
      assert.deepEqual(warnings, []);
    });

    const ask = (to: Address, type: string, payload: Json = {}): Promise<Json> => runtime.client.ask(to, type, payload);
    const grown = async (kind = 'heap'): Promise<Address> => {
      const to = addressOf(kind, 'acme', randomUUID());
      await ask(to, 'Grow', { chars: LARGE_CHARS });
      return to;
    };
    const namedBy = (text: string | null | undefined): string => {
      const [, ref] = /^@acme\/([0-9a-f.]{97})$/.exec(text ?? '') ?? [];
      assert.ok(ref !== undefined, 'the state is stored separately');
      return ref;
    };
    const refOf = async (to: Address): Promise<string> =>
      namedBy((await ports.store.load(await runtime.client.partitionOf(to), [to]))[0]);
    const isThere = (ref: string): Promise<boolean> =>
      ports.blobs.get('acme', ref).then(
        () => true,
        () => false,
      );
    const gone = (ref: string): Promise<unknown> =>
      waitUntil('a replaced state to be deleted', async () => !(await isThere(ref)));
    /** Of what was stored since `known`. */
    const left = async (known: ReadonlySet<string>): Promise<string[]> => {
      const found: string[] = [];
      for (const ref of watched.stored) if (!known.has(ref) && (await isThere(ref))) found.push(ref);
      return found;
    };

    test('only the newest version of a large state is kept; replaced ones are deleted after a while', async () => {
      const known = new Set(watched.stored);
      const to = await grown();
      for (let step = 0; step < 50; step += 1) await ask(to, 'Step');
      // More when storing a state took too long for its batch, which then continued without it.
      assert.ok(watched.stored.size - known.size >= 51, 'each commit stored one');
      await waitUntil('the replaced ones to be deleted', async () => (await left(known)).length === 1);
      assert.deepEqual(await left(known), [await refOf(to)]);
      await restart();
      const seen = heap.state.parse((await runtime.client.read(to))?.state);
      assert.deepEqual([seen.steps, seen.text.length], [50, LARGE_CHARS]);
    });

    test('a reader that holds the reference of a replaced state can still fetch it for a while', async () => {
      await restart(LONG_MS);
      const to = await grown();
      const old = await refOf(to);
      await ask(to, 'Step');
      assert.notEqual(await refOf(to), old);
      assert.ok((await ports.blobs.get('acme', old)).byteLength > LARGE_CHARS);
      // A reader on another node may have read it just before this one stops.
      await restart();
      assert.ok(await isThere(old));
      assert.ok(await isThere(await refOf(to)));
    });

    test('a state that an earlier incarnation has written is deleted when this one replaces it', async () => {
      const to = await grown();
      await restart();
      const old = await refOf(to);
      await ask(to, 'Step');
      await gone(old);
      assert.equal(heap.state.parse((await runtime.client.read(to))?.state).steps, 1);
    });

    test('actors with equal states share none of them', async () => {
      const [one, other] = [await grown(), await grown()];
      const ref = await refOf(one);
      assert.notEqual(ref, await refOf(other));
      await ask(one, 'Step');
      await gone(ref);
      assert.equal(heap.state.parse((await runtime.client.read(other))?.state).text.length, LARGE_CHARS);
    });

    test('a state that returns to its value before a failing message is a new one, not the earlier one', async () => {
      const to = await grown();
      const first = await refOf(to);
      await assert.rejects(ask(to, 'Break'), { code: 'dead_lettered' });
      assert.notEqual(await refOf(to), first);
      await gone(first);
      await restart();
      assert.equal(heap.state.parse((await runtime.client.read(to))?.state).text.length, LARGE_CHARS);
    });

    test('the archive keeps the last state of an actor that has ended', async () => {
      const known = new Set(watched.stored);
      const to = await grown();
      await ask(to, 'Step');
      await ask(to, 'End');
      await waitUntil('the archive', async () => (await runtime.client.read(to))?.archived === true);
      await waitUntil('the replaced ones to be deleted', async () => (await left(known)).length === 1);
      assert.deepEqual(await left(known), [namedBy(await runtime.archive.loadRecord(to))]);
      await ask(to, 'Step').catch(() => undefined);
      await restart();
      assert.equal(heap.state.parse((await runtime.client.read(to))?.state).over, true);
    });

    test('an actor that ends without an archive leaves no state', async () => {
      const known = new Set(watched.stored);
      const to = await grown('scrap');
      await ask(to, 'End');
      await waitUntil('it to leave the store', async () => (await runtime.client.read(to)) === null);
      await waitUntil('its states to be deleted', async () => (await left(known)).length === 0);
    });

    test('a fenced commit deletes nothing', async () => {
      const to = await grown();
      const old = await refOf(to);
      const { fenced } = watched;
      watched.fence = 3;
      await ask(to, 'Step');
      assert.equal(watched.fenced - fenced, 3);
      await gone(old);
      assert.equal(heap.state.parse((await runtime.client.read(to))?.state).steps, 1);
    });
  });
}
