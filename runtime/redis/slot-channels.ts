import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Command } from 'ioredis';
import type { Connection } from './connection.ts';

/** Delay before a refused subscription is repeated: a slot that moves to another server may refuse it. */
const REPEAT_MS = 100;
/** Longest time that the restored slots of a server wait for its other slots. */
const TOGETHER_MS = 500;
/** Most channels of one request. */
const MOST_AT_ONCE = 500;

/**
 * Whether a channel belongs to one slot of a Cluster, where only the server of that slot carries its messages (sharded
 * pub/sub).
 */
export const isSharded = (channel: string): boolean => channel.startsWith('{');

interface Subscription {
  readonly slot: number;
  /** True while the subscription is requested. */
  isRequested: boolean;
  /** The server that has accepted it; null when none has, or that server was lost. */
  server: string | null;
}

/** Called with channels that are in place again. */
type Restored = (channels: readonly string[]) => Promise<void>;

type Subscriptions = ReadonlyMap<string, Subscription>;

/**
 * Channels of slots, and the server on which each is subscribed. The client library requests all channels again after a gap and
 * keeps silent when a server refuses them, as one that is just back may do. So the channels of a server that was lost, and
 * those whose slot has moved, are requested here until they are in place; the others are left alone.
 */
export class SlotChannels {
  readonly #connection: Connection;
  readonly #warn: (warning: string) => void;
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(connection: Connection, warn: (warning: string) => void) {
    this.#connection = connection;
    this.#warn = warn;
  }

  /** Requests a channel until a server accepts it. Resolves when it is in place or was given up. */
  async subscribe(channel: string): Promise<void> {
    const subscription: Subscription = { slot: slotOf(channel), isRequested: true, server: null };
    this.#subscriptions.set(channel, subscription);
    await this.#request(subscription.slot, new Map([[channel, subscription]]), false);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#subscriptions.delete(channel);
    await this.#connection.sunsubscribe(channel);
  }

  /** The connection to a server has ended; without a name, all have. */
  lost(server?: string): void {
    for (const subscription of this.#subscriptions.values()) {
      if (server === undefined || subscription.server === server) subscription.server = null;
    }
  }

  /**
   * Requests the channels that are not in place and not requested. Calls `restored` once for each of their servers, and again
   * for slots that took longer than the others of their server.
   */
  restore(restored: Restored): void {
    const servers = new Map<string, Map<number, Map<string, Subscription>>>();
    for (const [channel, subscription] of this.#subscriptions) {
      const server = this.#serverOf(subscription.slot);
      if (subscription.isRequested || (subscription.server !== null && subscription.server === server)) continue;
      subscription.isRequested = true;
      const slots = servers.get(server ?? '') ?? new Map<number, Map<string, Subscription>>();
      servers.set(server ?? '', slots);
      slots.set(
        subscription.slot,
        (slots.get(subscription.slot) ?? new Map<string, Subscription>()).set(channel, subscription),
      );
    }
    for (const slots of servers.values()) void this.#restoreAll(slots, restored);
  }

  close(): void {
    this.#subscriptions.clear();
  }

  async #restoreAll(slots: ReadonlyMap<number, Subscriptions>, restored: Restored): Promise<void> {
    const late = new Set(slots.keys());
    const requested = [...slots].map(async ([slot, subscriptions]) => {
      await this.#request(slot, subscriptions, true);
      if (!late.delete(slot)) await restored([...subscriptions.keys()]);
    });
    await Promise.race([Promise.all(requested), pause(TOGETHER_MS, undefined, { ref: false })]);
    const inPlace = [...slots].filter(([slot]) => !late.has(slot));
    late.clear();
    await restored(inPlace.flatMap(([, subscriptions]) => [...subscriptions.keys()]));
  }

  /** `isKnown`: the library has the request already. */
  async #request(slot: number, subscriptions: Subscriptions, isKnown: boolean): Promise<void> {
    for (let tries = 0; this.#wanted(subscriptions).length > 0; tries += 1) {
      const server = this.#serverOf(slot);
      try {
        // The library keeps every request, also a refused one: without this it would keep the channels many times.
        if (isKnown || tries > 0) await this.#inParts(subscriptions, (part) => this.#connection.sunsubscribe(...part));
        await this.#inParts(subscriptions, (part) => this.#connection.ssubscribe(...part));
        for (const subscription of subscriptions.values()) Object.assign(subscription, { isRequested: false, server });
        return;
      } catch (error) {
        if (tries === 0) this.#warn(`subscription failed and is repeated: ${String(error)}`);
        await pause(REPEAT_MS, undefined, { ref: false });
      }
    }
  }

  async #inParts(subscriptions: Subscriptions, send: (channels: readonly string[]) => Promise<unknown>): Promise<void> {
    const channels = this.#wanted(subscriptions);
    const parts = Array.from({ length: Math.ceil(channels.length / MOST_AT_ONCE) }, (_, n) =>
      channels.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE),
    );
    await Promise.all(parts.map((part) => send(part)));
  }

  /** Those that were neither given up nor requested anew since. */
  #wanted(subscriptions: Subscriptions): string[] {
    return [...subscriptions].flatMap(([channel, subscription]) =>
      this.#subscriptions.get(channel) === subscription ? [channel] : [],
    );
  }

  #serverOf(slot: number): string | null {
    return this.#connection instanceof Cluster ? (this.#connection.slots[slot]?.[0] ?? null) : null;
  }
}

/** The slot of a key or channel, as the client library computes it. */
export function slotOf(name: string): number {
  const slot = new Command('get', [name]).getSlot();
  if (slot == null) throw new TypeError(`${name} has no slot`);
  return slot;
}
