import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type ActorStore, changesOf } from '../../../runtime/actor-store.ts';
import type { Partition } from '../../../runtime/address.ts';
import type { Blobs } from '../../../runtime/blobs.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../../runtime/effect.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { solePlacement } from '../../../runtime/locator.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import type { RedisServer } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

export const PARTITIONS = 4;
export const LARGE = 100 * 1_024;
export const RETRY = { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 20 };

/** The numbers it received, in order, and a text of the requested length. */
export const heap = defineActor({
  kind: 'heap',
  version: 1,
  state: z.object({ text: z.string(), heard: z.array(z.number()), steps: z.number() }),
  initial: () => ({ text: '', heard: [], steps: 0 }),
  messages: {
    Grow: z.object({ chars: z.number() }),
    Hear: z.object({ n: z.number() }),
    Large: z.object({ n: z.number(), text: z.string() }),
    Break: z.object({}),
    Work: z.object({ ahead: z.boolean().optional(), chars: z.number().optional(), steps: z.number().optional() }),
    Worked: EffectResult,
  },
  events: {},
  on: {
    Grow: (state, { chars }) => ({ ...state, text: 'x'.repeat(chars) }),
    Hear: (state, { n }, turn) => {
      const heard = [...state.heard, n];
      turn.reply(heard);
      return { ...state, heard };
    },
    Large: (state, { n }, turn) => {
      const heard = [...state.heard, n];
      turn.reply(heard);
      return { ...state, heard };
    },
    Break() {
      throw new Error('this handler is broken');
    },
    Work: (state, { ahead = false, chars = 0, steps = 0 }, turn) => {
      const mode = ahead ? 'repeatable' : 'once';
      turn.effect({ kind: 'test.gated', mode, ahead, input: { chars }, replyAs: 'Worked' });
      turn.reply(null);
      return { ...state, steps };
    },
    /** Received as 100 when all its steps are done. */
    Worked: (state, _, turn) => {
      if (state.steps === 0) return { ...state, heard: [...state.heard, 100] };
      turn.effect({ kind: 'test.gated', mode: 'repeatable', ahead: true, input: { chars: 0 }, replyAs: 'Worked' });
      return { ...state, steps: state.steps - 1 };
    },
  },
});

/** What a store answers without asking its server. */
const AT_ONCE: ReadonlySet<PropertyKey> = new Set(['tagOf', 'mayBeMade', 'renewedAt', 'freeze']);

/** The store as a node has it that `isCut` cuts off. */
function cutOff(store: ActorStore, isCut: () => boolean): ActorStore {
  const guard = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name);
        if (name === 'sharedLogs' && typeof found === 'object' && found !== null) return guard(found);
        if (typeof found !== 'function') return found;
        return (...asked: unknown[]) => {
          if (isCut() && !AT_ONCE.has(name) && !String(name).startsWith('on'))
            return Promise.reject(new SvcError('unavailable', 'cut off'));
          return found.apply(target, asked);
        };
      },
    });
  return guard(store);
}

/** Keeps calls for one actor waiting, or refuses them. */
class Gate {
  #open = Promise.withResolvers<void>();
  #isClosed = false;
  isAway: () => boolean = () => false;
  delayMs: () => number = () => 0;
  waiting = 0;
  begun = 0;

  close(): void {
    this.#open = Promise.withResolvers<void>();
    this.#isClosed = true;
  }

  open(): void {
    this.#isClosed = false;
    this.isAway = () => false;
    this.delayMs = () => 0;
    this.#open.resolve();
  }

  async pass(): Promise<void> {
    if (this.isAway()) throw new SvcError('unavailable', 'the store is away');
    const delayMs = this.delayMs();
    if (delayMs > 0) await new Promise((resume) => setTimeout(resume, delayMs));
    if (!this.#isClosed) return;
    this.waiting += 1;
    await this.#open.promise.finally(() => {
      this.waiting -= 1;
    });
  }
}

/** Nodes on one Redis whose large payloads are slow, away or cut off as a test wants. */
export async function slowActorsRuntime(server: RedisServer, directory: string, packs = true) {
  const prefix = `s${randomUUID().slice(0, 8)}`;
  const own = await mkdtemp(join(directory, prefix));
  const documents = new SqliteDocuments({ directory: own });
  const files = new FileBlobs({ directory: own });
  const store = new RedisActorStore({ urls: server.url, prefix, packs: () => packs });
  for (const port of [store, documents, files]) await port.open();
  const [reads, writes, work] = [new Gate(), new Gate(), new Gate()];
  const gated = defineEffect({
    kind: 'test.gated',
    input: z.object({ chars: z.number() }),
    async run({ chars }) {
      work.begun += 1;
      await work.pass();
      return 'x'.repeat(chars);
    },
  });
  const blobs: Blobs = {
    ...{ open: () => files.open(), close: () => files.close(), delete: (...asked) => files.delete(...asked) },
    deleteOwned: (...asked) => files.deleteOwned(...asked),
    get: async (...asked) => {
      await reads.pass();
      return files.get(...asked);
    },
    put: async (...asked) => {
      await writes.pass();
      return files.put(...asked);
    },
  };
  const warnings: string[] = [];
  /** Nodes that reach the store no more. */
  const cut = new Set<string>();
  const common = {
    ...{ documents, blobs, definitions: [heap] },
    warn: (message: string, error: unknown) => void warnings.push(`${message}: ${String(error)}`),
  };
  const pools = { partitions: PARTITIONS, systemPartitions: 1 };
  /** Each has one commit refused that resumes something. */
  const fenced: 'resumed'[] = [];
  const bent = (node: string): ActorStore => {
    const reached = cutOff(store, () => cut.has(node));
    const commit: ActorStore['commit'] = async (wanted, readAhead) => {
      const resumes = changesOf(wanted).some(({ resumed = [] }) => resumed.length > 0);
      return resumes && fenced.pop() !== undefined ? { kind: 'fenced' } : reached.commit(wanted, readAhead);
    };
    return new Proxy(reached, { get: (target, name) => (name === 'commit' ? commit : Reflect.get(target, name)) });
  };
  /** Partitions that no one should serve. */
  const unwanted = new Set<Partition>();
  const start = async (node: string): Promise<Runtime> => {
    const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
    await effects.open();
    const sole = solePlacement(store, node, randomUUID());
    const placement = {
      ...sole,
      async assign() {
        const { wanted, queues } = await sole.assign();
        return { wanted: new Set([...wanted].filter((one) => !unwanted.has(one))), queues };
      },
    };
    return startRuntime({
      placement,
      ...{ ...common, effects, node, handlers: [gated], store: bent(node) },
      settings: {
        ...pools,
        overlapMs: 0,
        leaseTtlMs: 2_000,
        leaseRenewMs: 200,
        shareAfterMs: 20,
        retry: RETRY,
        cacheLimit: 8,
      },
    });
  };
  const names: Partition[] = [...Array.from({ length: PARTITIONS }, (_, n): Partition => `default:${n}`), 'system:0'];
  const shared = () =>
    waitUntil('all partitions share a log', async () => {
      const [log, ...others] = (await store.sharedLogs?.list()) ?? [];
      if (log === undefined || others.length > 0) return null;
      const { cursor } = await store.backlog(log);
      const all = await Promise.all(names.map((name) => store.backlog(name)));
      return all.every((one) => one.cursor === cursor) ? log : null;
    });
  const postponed = async (): Promise<number> => {
    const pages = await Promise.all(names.map((name) => store.sharedLogs?.postponed(name, 0, 10_000) ?? []));
    return pages.flat().length;
  };
  const close = async () => {
    for (const port of [store, documents, files]) await port.close();
  };
  return {
    cut,
    fenced,
    unwanted,
    names,
    store,
    documents,
    common,
    pools,
    reads,
    writes,
    work,
    warnings,
    start,
    shared,
    postponed,
    close,
  };
}
