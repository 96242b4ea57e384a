import { randomBytes } from 'node:crypto';
import { Cluster, Command } from 'ioredis';
import { SvcError } from '../errors.ts';
import { type Connection, isFunctionMissing, masters, redisFailure } from './connection.ts';
import type { Keys } from './keys.ts';
import { type FunctionLibrary, loadLibrary } from './library.ts';
import { list } from './replies.ts';

/** Limits of one call. A longer call would block Redis for all other clients. */
const MAX_SECTIONS = 256;

const MAX_ARGUMENTS = 20_000;

const MAX_CHARACTERS = 1024 * 1024;

const REPLICAS_WITHIN_MS = 2_000;

/**
 * Functions whose callers wait for a published answer: the subscription must be in place first. No other call waits for
 * that.
 */
const AWAITS_REPLY: ReadonlySet<string> = new Set(['append', 'append_pack']);

/** Functions that write nothing that a replica must have. */
const READS: ReadonlySet<string> = new Set([
  ...['poll', 'now', 'members', 'look', 'counts', 'depth', 'unread', 'backlog', 'read_journal', 'came_back'],
]);

/** Writes keys and arguments of one section. */
type Write = (keys: string[], args: (string | number)[]) => void;

interface Waiter {
  readonly write: Write;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** One FCALL being built: writers add keys and arguments of their sections. */
class Bundle {
  /** Name of the function, and the arguments in front of those of its sections (functions/_prelude.lua). */
  readonly name: string;
  readonly prefix: string;
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  readonly waiters: Waiter[] = [];
  #characters = 0;
  #measured = 0;

  constructor(name: string, prefix: string) {
    this.name = name;
    this.prefix = prefix;
  }

  get full(): boolean {
    const { args } = this;
    for (; this.#measured < args.length; this.#measured += 1) {
      const arg = args[this.#measured];
      if (typeof arg === 'string') this.#characters += arg.length;
    }
    return this.waiters.length >= MAX_SECTIONS || args.length >= MAX_ARGUMENTS || this.#characters >= MAX_CHARACTERS;
  }
}

/** Lines of the protocol that say how long the next one is. */
const SIZES: readonly string[] = Array.from({ length: 256 }, (_, bytes) => `$${bytes}`);

/**
 * A call with dozens of arguments. The client library copies them twice and adds their texts piece by piece, which leaves half as
 * much garbage again (decision 0076).
 */
class Fcall extends Command {
  constructor(words: (string | number)[]) {
    super('fcall', [], { replyEncoding: 'utf8' });
    this.args = words;
    this.stringifyArguments();
  }

  override toWritable(): string {
    const { args } = this;
    // Of the right length: a list that grows is copied again and again.
    const lines = new Array<string>(2 * args.length + 4).fill('');
    [lines[0], lines[1], lines[2]] = [`*${args.length + 1}`, '$5', 'fcall'];
    for (let n = 0; n < args.length; n += 1) {
      const text = String(args[n]);
      const bytes = Buffer.byteLength(text);
      lines[2 * n + 3] = SIZES[bytes] ?? `$${bytes}`;
      lines[2 * n + 4] = text;
    }
    return lines.join('\r\n');
  }
}

/** Placement of a store's keys and channels. */
interface Placing {
  /** Prefix of all channels. */
  readonly channels: string;
  /** The hash tag that the keys of `home` share with others; '' when they have a slot of their own. */
  tagOf(home: string): string;
}

/**
 * Calls functions. All calls of one tick are sent together, and while an answer is waited for, those of one turn of the
 * event loop: on a single Redis as one FCALL for many partitions, on Cluster as one FCALL for the partitions of each
 * slot, pipelined.
 */
export class FcallBatcher {
  readonly #connection: Connection;
  readonly #library: FunctionLibrary;
  readonly #placing: Placing;
  /** Resolves when the subscriptions requested before a call are in place; null when none is pending. */
  readonly #settled: () => Promise<void> | null;
  readonly #waitReplicas: number;
  #bundles = new Map<string, Bundle>();
  #late: (() => void)[] = [];
  #scheduled = false;
  /** Calls without an answer. */
  #inFlight = 0;
  #reload: Promise<void> | null = null;

  /** `waitReplicas` is how many replicas must have a write before it is acknowledged (K10). Not for Cluster. */
  constructor(
    connection: Connection,
    library: FunctionLibrary,
    placing: Placing,
    settled: () => Promise<void> | null,
    waitReplicas = 0,
  ) {
    this.#waitReplicas = waitReplicas;
    this.#connection = connection;
    this.#library = library;
    this.#placing = placing;
    this.#settled = settled;
  }

  /**
   * Adds a section to the next call of a function and returns the section's reply. `home` selects the slot of its keys:
   * a partition, or a key that is alone in its slot.
   */
  call(name: string, home: string, write: Write): Promise<unknown> {
    const tag = this.#placing.tagOf(home);
    // A single server holds all keys together. Only a Cluster has tags.
    const slot = this.#connection instanceof Cluster ? `${name} ${tag === '' ? home : tag}` : name;
    const bundle = this.#bundleOf(slot, name, tag);
    write(bundle.keys, bundle.args);
    const reply = new Promise<unknown>((resolve, reject) => bundle.waiters.push({ write, resolve, reject }));
    if (bundle.full) {
      this.#bundles.delete(slot);
      void this.#send(bundle);
    } else this.#schedule();
    return reply;
  }

  /** `call`, but `write` runs when the call is sent. Until then the caller can collect content for the section. */
  callLate(name: string, home: string, write: Write): Promise<unknown> {
    this.#schedule();
    return new Promise<unknown>((resolve, reject) => {
      this.#late.push(() => void this.call(name, home, write).then(resolve, reject));
    });
  }

  #bundleOf(slot: string, name: string, tag: string): Bundle {
    let bundle = this.#bundles.get(slot);
    if (bundle === undefined) {
      const { channels } = this.#placing;
      bundle = new Bundle(name, tag === '' ? channels : `${channels}\t${tag}`);
      this.#bundles.set(slot, bundle);
    }
    return bundle;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A call that is alone need not wait: what it answers is waited for.
    if (this.#inFlight === 0) process.nextTick(() => this.#flush());
    else setImmediate(() => this.#flush());
  }

  #flush(): void {
    const late = this.#late;
    this.#late = [];
    // `#scheduled` is still set, so the sections that they add are sent now.
    for (const add of late) add();
    this.#scheduled = false;
    const bundles = this.#bundles;
    this.#bundles = new Map();
    // The calls to one server leave with one write.
    const streams = bundles.size > 1 ? masters(this.#connection).map(({ stream }) => stream) : [];
    for (const stream of streams) stream?.cork();
    for (const bundle of bundles.values()) void this.#send(bundle);
    for (const stream of streams) stream?.uncork();
  }

  async #send(bundle: Bundle): Promise<void> {
    const { name, waiters } = bundle;
    this.#inFlight += 1;
    try {
      const settled = AWAITS_REPLY.has(name) ? this.#settled() : null;
      if (settled !== null) await settled;
      const results = list(await this.#invoke(bundle));
      for (let n = 0; n < waiters.length; n += 1) waiters[n]?.resolve(results[n]);
    } catch (error) {
      const failure = redisFailure(error);
      if (failure.code === 'internal' && waiters.length > 1) await this.#sendAlone(bundle);
      else for (const waiter of waiters) waiter.reject(failure);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /**
   * Sends each section of a failed call alone, because one of them made the call fail (a corrupt key, for example) and
   * must fail only its own caller. The sections before it were written, and every function accepts the same section
   * twice. All are sent at once, so they keep their order.
   */
  async #sendAlone({ name, prefix, waiters }: Bundle): Promise<void> {
    await Promise.all(
      waiters.map((waiter) => {
        const alone = new Bundle(name, prefix);
        waiter.write(alone.keys, alone.args);
        alone.waiters.push(waiter);
        return this.#send(alone);
      }),
    );
  }

  async #invoke({ name, prefix, keys, args, waiters }: Bundle): Promise<unknown> {
    const words: (string | number)[] = [`${this.#library.name}_${name}`, keys.length];
    const call = words.concat(keys, waiters.length, prefix, args);
    const writes = !READS.has(name);
    try {
      return await this.#fcall(call, writes);
    } catch (error) {
      if (!isFunctionMissing(error)) throw error;
      await this.#loadAgain();
      return await this.#fcall(call, writes);
    }
  }

  async #fcall(words: (string | number)[], writes: boolean): Promise<unknown> {
    const command = new Fcall(words);
    this.#connection.sendCommand(command);
    // WAIT covers the earlier writes of its connection, so it is sent right behind the call.
    const [reply] = await Promise.all([command.promise, writes ? this.#replicated() : null]);
    return reply;
  }

  /**
   * Resolves when enough replicas have the writes. Rejects with `unavailable` when they do not within the time limit.
   */
  async #replicated(): Promise<void> {
    if (this.#waitReplicas === 0 || this.#connection instanceof Cluster) return;
    const reached = await this.#connection.wait(this.#waitReplicas, REPLICAS_WITHIN_MS);
    if (reached >= this.#waitReplicas) return;
    const text = `${reached} of ${this.#waitReplicas} replicas have the write`;
    throw new SvcError('unavailable', text, { store: 'actors' });
  }

  /**
   * Loads the functions again after they are gone (FUNCTION FLUSH, an empty replica became master, a new Cluster node).
   */
  #loadAgain(): Promise<void> {
    this.#reload ??= loadLibrary(masters(this.#connection), this.#library).finally(() => {
      this.#reload = null;
    });
    return this.#reload;
  }
}

/**
 * Numbers the calls of this process. A call that neither a lease nor an attempt fences is applied in this order only:
 * one that arrives twice, or behind a later one, is skipped (functions/_call_order.lua).
 */
export class CallOrder {
  /** Identifies this process: 12 characters without a space. */
  readonly caller = randomBytes(9).toString('base64url');
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** Checks the reply to such a call. Throws `unavailable` for one that arrived too late: its caller may repeat it. */
export function inOrder(reply: unknown): unknown {
  if (reply === -1) {
    throw new SvcError(
      'unavailable',
      'Redis received this call after a later one of this process and did not apply it. Repeat it.',
      { store: 'actors' },
    );
  }
  return reply;
}

/** What the parts of a store call Redis with. */
export interface RedisCalls {
  readonly connection: Connection;
  readonly calls: FcallBatcher;
  readonly keys: Keys;
  readonly order: CallOrder;
}
