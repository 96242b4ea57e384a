import { setTimeout as pause } from 'node:timers/promises';
import type { Unsubscribe } from '../leases.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * Longest time that an append waits for a subscription. Without the subscription its reply may be found only by
 * polling.
 */
const SETTLE_MS = 500;
/** How often the connection is tested, and how long the answer may take before the connection is renewed. */
const PROBE_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 4_000;
/** Delay before a refused subscription is repeated: a slot that moves to another server may refuse it. */
const REPEAT_MS = 100;

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
 * Whether a channel belongs to one slot of a Cluster, where only the server of that slot carries its messages (sharded
 * pub/sub).
 */
const isSharded = (channel: string): boolean => channel.startsWith('{');

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
  #probing = false;
  #isClosed = false;
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
    this.#probe = setInterval(() => this.#look(), PROBE_EVERY_MS).unref();
    for (const event of ['messageBuffer', 'smessageBuffer']) {
      connection.on(event, (channel: Buffer, message: Buffer) => {
        this.#pass(channel.toString('utf8'), message);
      });
    }
    // A Cluster moves its subscriptions to another node when their node leaves, or when slots move.
    for (const event of ['ready', '+node', '-node', 'subscribersReady'])
      connection.on(event, () => void this.#afterGap());
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
    this.#isClosed = true;
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
      this.#warn(`subscriptions: no answer within ${ANSWER_WITHIN_MS} ms, the connection is renewed`);
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
   * Calls `missed` after a gap. The client library requests the earlier channels first, so they are subscribed again
   * once this call is answered. It does not repeat a request for a channel of a slot that the server refuses, as one
   * that is just back may do: those channels are requested here until they are in place.
   */
  async #afterGap(): Promise<void> {
    if (this.#listeners.size === 0 || this.#connection.status !== 'ready') return;
    try {
      await this.#answers();
    } catch (error) {
      this.#warn(`subscription failed: ${String(error)}`);
    }
    const { promise: answering, resolve } = Promise.withResolvers<void>();
    if (this.#commands.status === 'ready') resolve();
    else this.#commands.once('ready', () => resolve());
    await answering;
    const late = new Set([...this.#listeners.keys()].filter(isSharded));
    const restored = [...late].map(async (channel) => {
      await this.#subscribeInSlot(channel, true);
      if (!late.delete(channel)) this.#missedOn([channel]);
    });
    await Promise.race([Promise.all(restored), pause(SETTLE_MS, undefined, { ref: false })]);
    late.clear();
    this.#missedOn([...this.#listeners.keys()]);
  }

  #missedOn(channels: readonly string[]): void {
    const all = channels.flatMap((channel) => [...(this.#listeners.get(channel)?.values() ?? [])]);
    for (const missed of new Set(all)) missed();
  }

  #resubscribe(): void {
    // The library restores the sharded channels itself.
    const channels = [...this.#listeners.keys()].filter((channel) => !isSharded(channel));
    if (channels.length > 0) this.#change(this.#connection.subscribe(...channels), false);
  }

  /** Resolves when the awaited subscriptions are in place or took too long; null when none is pending. */
  readonly settled = (): Promise<void> | null => this.#settled;

  listen(
    channels: readonly string[],
    receive: Receive,
    { awaited = true, missed = () => {} }: Listening = {},
  ): Unsubscribe {
    const own: Receive = (message) => receive(message);
    const begun = channels.filter((channel) => !this.#listeners.has(channel));
    for (const channel of begun) this.#listeners.set(channel, new Map());
    for (const channel of channels) this.#listeners.get(channel)?.set(own, missed);
    if (begun.length > 0) this.#change(this.#begin(begun), awaited);
    return () => {
      const left = channels.filter((channel) => {
        const listeners = this.#listeners.get(channel);
        return listeners?.delete(own) === true && listeners.size === 0;
      });
      for (const channel of left) this.#listeners.delete(channel);
      if (left.length > 0) this.#change(Promise.all(left.map((channel) => this.#unsubscribe(channel))), false);
    };
  }

  /** Requests and answers take other connections than commands, so a listener may have looked before it was subscribed. */
  async #begin(channels: readonly string[]): Promise<void> {
    await Promise.all(channels.map((channel) => this.#subscribe(channel)));
    this.#missedOn(channels);
  }

  async #subscribe(channel: string): Promise<void> {
    if (isSharded(channel)) await this.#subscribeInSlot(channel, false);
    else await this.#connection.subscribe(channel);
  }

  /** Subscribes to a channel of a slot, again and again until the server accepts it. `isKnown`: it was requested before. */
  async #subscribeInSlot(channel: string, isKnown: boolean): Promise<void> {
    const isOver = (): boolean => this.#isClosed || !this.#listeners.has(channel);
    for (let tries = 0; !isOver(); tries += 1) {
      try {
        // The library keeps every request, also a refused one: without this it would keep the channel many times.
        if (isKnown || tries > 0) await this.#connection.sunsubscribe(channel);
        if (!isOver()) await this.#connection.ssubscribe(channel);
        return;
      } catch (error) {
        if (tries === 0) this.#warn(`subscription failed and is repeated: ${String(error)}`);
        await pause(REPEAT_MS, undefined, { ref: false });
      }
    }
  }

  #unsubscribe(channel: string): Promise<unknown> {
    return isSharded(channel) ? this.#connection.sunsubscribe(channel) : this.#connection.unsubscribe(channel);
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
