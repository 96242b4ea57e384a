import { setTimeout as pause } from 'node:timers/promises';
import type { Subscription } from '../leases.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { isSharded, SlotChannels } from './slot-channels.ts';

/**
 * Longest time that an append waits for a subscription. Without the subscription its reply may be found only by
 * polling.
 */
const SETTLE_MS = 500;
/** How often the connection is tested, and how long the answer may take before the connection is renewed. */
const PROBE_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 4_000;
type Receive = (message: Buffer) => void;

interface Listening {
  /** False: the listener finds missed messages by polling, so no append waits for this subscription. */
  readonly awaited?: boolean;
  /**
   * Called when messages may have been lost: once the subscription is in place, because of those before, and when it is in
   * place again after its connection was broken.
   */
  readonly missed?: () => void;
}

/**
 * Pub/sub. A published message only shortens a wait; losing one costs a poll. Each channel has one subscription, shared
 * by all listeners, and subscriptions are made again after a reconnect.
 */
export class PubSub {
  readonly #connection: Connection;
  readonly #commands: Connection;
  readonly #keys: Pick<Keys, 'alive' | 'aliveInSlots'>;
  readonly #warn: (warning: string) => void;
  readonly #listeners = new Map<string, Map<Receive, () => void>>();
  readonly #probe: NodeJS.Timeout;
  readonly #slots: SlotChannels;
  readonly #plain: PlainChannels;
  /** Channels whose subscription is requested and not in place yet. */
  readonly #requested = new Set<string>();
  #probing = false;
  /** True while a gap in plain channels ends. */
  #isEnding = false;
  /** True when another gap came meanwhile. */
  #hasAnother = false;
  /** Resolves when commands are answered again; null when they are. */
  #answering: Promise<void> | null = null;
  #pending = 0;
  #settled: Promise<void> | null = null;

  /** `commands` is the connection on which listeners look for missed messages. */
  constructor(
    connection: Connection,
    keys: Pick<Keys, 'alive' | 'aliveInSlots'>,
    commands: Connection,
    warn: (warning: string) => void,
  ) {
    this.#connection = connection;
    this.#commands = commands;
    this.#keys = keys;
    this.#warn = warn;
    catchResubscription(connection);
    this.#slots = new SlotChannels(connection, warn);
    this.#plain = new PlainChannels(connection, warn);
    this.#probe = setInterval(() => this.#look(), PROBE_EVERY_MS).unref();
    for (const event of ['messageBuffer', 'smessageBuffer']) {
      connection.on(event, (channel: Buffer, message: Buffer) => {
        this.#pass(channel.toString('utf8'), message);
      });
    }
    connection.on('close', () => this.#slots.lost());
    // The Cluster client names the server whose subscriptions ended; for other servers it names none.
    connection.on('-node', (_: unknown, server?: string) => {
      if (server !== undefined) this.#slots.lost(server);
    });
    // A Cluster moves its subscriptions to another node when their node leaves, or when slots move.
    for (const event of ['ready', '+node', '-node', 'subscribersReady']) connection.on(event, () => this.#afterGap());
  }

  /** A message that cannot be read counts as lost: no client that may publish can end this process. */
  #pass(channel: string, message: Buffer): void {
    for (const receive of this.#listeners.get(channel)?.keys() ?? []) {
      try {
        receive(message);
      } catch (thrown) {
        this.#warn(`a message on ${channel} could not be read: ${String(thrown)}`);
      }
    }
  }

  close(): void {
    this.#slots.close();
    this.#plain.close();
    clearInterval(this.#probe);
  }

  /**
   * Tests the connection: subscribing again, or leaving a channel without listeners, changes nothing and is answered. A
   * half-open connection does not answer.
   */
  async #answers(): Promise<void> {
    const slots = this.#keys.aliveInSlots().map((channel) => this.#connection.sunsubscribe(channel));
    await Promise.all([this.#connection.subscribe(this.#keys.alive), ...slots]);
  }

  #look(): void {
    if (this.#probing || this.#connection.status !== 'ready') return;
    this.#probing = true;
    const late = setTimeout(() => {
      this.#warn(
        `Redis did not answer on the connection of subscriptions within ${ANSWER_WITHIN_MS} ms; the connection is renewed`,
      );
      // After a deliberate disconnect the Cluster client does not restore its channels.
      this.#connection.once('ready', () => this.#resubscribe());
      this.#connection.disconnect(true);
    }, ANSWER_WITHIN_MS).unref();
    this.#answers()
      .catch((error: unknown) => this.#warn(`subscription failed: ${String(error)}`))
      .finally(() => {
        clearTimeout(late);
        this.#probing = false;
      });
  }

  /**
   * Calls `missed` after a gap: for plain channels once, and for channels of slots once for each server that was lost. Each
   * server ends its gap by itself, and events that come while a gap ends belong to it.
   */
  #afterGap(): void {
    if (this.#listeners.size === 0 || this.#connection.status !== 'ready') return;
    this.#slots.restore(async (channels) => {
      await this.#answered();
      this.#missedOn(channels);
    });
    this.#hasAnother = this.#isEnding;
    if (!this.#isEnding) void this.#endGap();
  }

  /** The client library requests the earlier plain channels first, so they are subscribed again once this call is answered. */
  async #endGap(): Promise<void> {
    this.#isEnding = true;
    do {
      this.#hasAnother = false;
      try {
        await this.#connection.subscribe(this.#keys.alive);
      } catch (error) {
        this.#warn(`subscription failed: ${String(error)}`);
      }
      await this.#answered();
    } while (this.#hasAnother);
    this.#isEnding = false;
    this.#missedOn([...this.#listeners.keys()].filter((channel) => !isSharded(channel)));
  }

  /** Resolves when commands are answered: listeners look for what they missed. */
  async #answered(): Promise<void> {
    if (this.#commands.status === 'ready') return;
    this.#answering ??= new Promise<void>((resolve) => this.#commands.once('ready', () => resolve())).then(() => {
      this.#answering = null;
    });
    await this.#answering;
  }

  #missedOn(channels: readonly string[]): void {
    const all = channels.flatMap((channel) => [...(this.#listeners.get(channel)?.values() ?? [])]);
    for (const missed of new Set(all)) missed();
  }

  #resubscribe(): void {
    // The library restores the sharded channels itself.
    const channels = [...this.#listeners.keys()].filter((channel) => !isSharded(channel));
    this.#plain.lost();
    if (channels.length > 0) this.#change(this.#connection.subscribe(...channels), false);
  }

  /** Resolves when the awaited subscriptions are in place or took too long; null when none is pending. */
  readonly settled = (): Promise<void> | null => this.#settled;

  listen(
    channels: readonly string[],
    receive: Receive,
    { awaited = true, missed = () => {} }: Listening = {},
  ): Subscription {
    const own: Receive = (message) => receive(message);
    const begun = channels.filter((channel) => !this.#listeners.has(channel));
    for (const channel of begun) this.#listeners.set(channel, new Map());
    for (const channel of channels) this.#listeners.get(channel)?.set(own, missed);
    const missing = begun.filter((channel) => isSharded(channel) || !this.#plain.keep(channel));
    if (missing.length > 0) this.#change(this.#begin(missing), awaited);
    const end = (): void => {
      const left = channels.filter((channel) => {
        const listeners = this.#listeners.get(channel);
        return listeners?.delete(own) === true && listeners.size === 0;
      });
      for (const channel of left) this.#listeners.delete(channel);
      for (const channel of left) {
        if (isSharded(channel)) this.#change(this.#slots.unsubscribe(channel), false);
        else this.#plain.leave(channel);
      }
    };
    return Object.assign(end, { isPending: channels.some((channel) => this.#requested.has(channel)) });
  }

  /** Requests and answers take other connections than commands, so a listener may have looked before it was subscribed. */
  async #begin(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#requested.add(channel);
    try {
      await Promise.all(channels.map((channel) => this.#subscribe(channel)));
    } finally {
      for (const channel of channels) this.#requested.delete(channel);
    }
    this.#missedOn(channels);
  }

  #subscribe(channel: string): Promise<unknown> {
    return isSharded(channel) ? this.#slots.subscribe(channel) : this.#plain.join(channel);
  }

  #change(done: Promise<unknown>, awaited: boolean): void {
    const changed = done.then(
      () => undefined,
      (error: unknown) => this.#warn(`subscription failed: ${error instanceof Error ? error.message : String(error)}`),
    );
    if (!awaited) return;
    this.#pending += 1;
    const ended = changed.then(() => {
      this.#pending -= 1;
      if (this.#pending === 0) this.#settled = null;
    });
    const all = this.#settled === null ? ended : Promise.all([this.#settled, ended]).then(() => undefined);
    this.#settled = Promise.race([all, pause(SETTLE_MS, undefined, { ref: false })]);
  }
}

/** Pause before channels without listeners are left, and most of them. */
const LEAVE_AFTER_MS = 50;
const MOST_LEFT = 500;

/** Plain channels. Those of one tick are joined with one request, and those without listeners are left some at a time. */
class PlainChannels {
  readonly #connection: Connection;
  readonly #warn: (warning: string) => void;
  #joining: string[] = [];
  #joined: Promise<unknown> | null = null;
  /** Channels without listeners that are still subscribed. */
  readonly #leaving = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(connection: Connection, warn: (warning: string) => void) {
    this.#connection = connection;
    this.#warn = warn;
  }

  /** Resolves when the channel is subscribed. */
  join(channel: string): Promise<unknown> {
    this.#joining.push(channel);
    this.#joined ??= new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      const channels = this.#joining;
      this.#joining = [];
      this.#joined = null;
      return this.#connection.subscribe(...channels);
    });
    return this.#joined;
  }

  /** Whether the channel is still subscribed, or about to be; then it stays. */
  keep(channel: string): boolean {
    return this.#leaving.delete(channel);
  }

  leave(channel: string): void {
    this.#leaving.add(channel);
    if (this.#leaving.size >= MOST_LEFT) this.#leave();
    else this.#timer ??= setTimeout(() => this.#leave(), LEAVE_AFTER_MS).unref();
  }

  /** The connection was renewed without the channels that have no listeners. */
  lost(): void {
    this.#leaving.clear();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #leave(): void {
    this.close();
    this.#timer = null;
    const channels = [...this.#leaving];
    this.#leaving.clear();
    if (channels.length === 0) return;
    this.#connection
      .unsubscribe(...channels)
      .catch((thrown: unknown) => this.#warn(`could not unsubscribe from channels: ${String(thrown)}`));
  }
}

/**
 * After a reconnect the client library subscribes again and keeps no promise of it. When the connection is closed meanwhile, that
 * promise rejects without a handler, which ends the process. Callers of ours still see their own rejections.
 */
function catchResubscription(connection: Connection): void {
  const subscribe: unknown = connection.subscribe;
  if (typeof subscribe !== 'function') return;
  const value = (...args: unknown[]): unknown => {
    const done: unknown = Reflect.apply(subscribe, connection, args);
    if (done instanceof Promise) done.catch(() => {});
    return done;
  };
  Object.defineProperty(connection, 'subscribe', { value, configurable: true });
}
