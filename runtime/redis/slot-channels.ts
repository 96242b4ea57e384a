import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import type { Connection } from './connection.ts';

/** Delay before a refused subscription is repeated: a slot that moves to another server may refuse it. */
const REPEAT_MS = 100;
/** Longest time that the restored slots of a server wait for its other slots. */
const TOGETHER_MS = 500;
/** Most channels of one request. */
const MOST_AT_ONCE = 500;

/** Number of slots of a Redis Cluster. */
const SLOTS = 16_384;
/** CRC-16/XMODEM, as the Cluster specification says. */
const POLYNOMIAL = 0x1021;

/**
 * Whether a channel belongs to one slot of a Cluster, where only the server of that slot carries its messages (sharded
 * pub/sub).
 */
export const isSharded = (channel: string): boolean => channel.startsWith('{');

interface Place {
  readonly slot: number;
  /** True while the subscription is requested. */
  isRequested: boolean;
  /** The server that has accepted it; null when none has, or that server was lost. */
  server: string | null;
}

/** Called with channels that are in place again. */
type Restored = (channels: readonly string[]) => Promise<void>;

type Places = ReadonlyMap<string, Place>;

/**
 * Channels of slots, and the server on which each is subscribed. The client library requests all channels again after a gap and
 * keeps silent when a server refuses them, as one that is just back may do. So the channels of a server that was lost, and
 * those whose slot has moved, are requested here until they are in place; the others are left alone.
 */
export class SlotChannels {
  readonly #connection: Connection;
  readonly #warn: (warning: string) => void;
  readonly #places = new Map<string, Place>();

  constructor(connection: Connection, warn: (warning: string) => void) {
    this.#connection = connection;
    this.#warn = warn;
  }

  /** Requests a channel until a server accepts it. Resolves when it is in place or was given up. */
  async subscribe(channel: string): Promise<void> {
    const place: Place = { slot: slotOf(channel), isRequested: true, server: null };
    this.#places.set(channel, place);
    await this.#request(place.slot, new Map([[channel, place]]), false);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#places.delete(channel);
    await this.#connection.sunsubscribe(channel);
  }

  /** The connection to a server has ended; without a name, all have. */
  lost(server?: string): void {
    for (const place of this.#places.values()) {
      if (server === undefined || place.server === server) place.server = null;
    }
  }

  /**
   * Requests the channels that are not in place and not requested. Calls `restored` once for each of their servers, and again
   * for slots that took longer than the others of their server.
   */
  restore(restored: Restored): void {
    const servers = new Map<string, Map<number, Map<string, Place>>>();
    for (const [channel, place] of this.#places) {
      const server = this.#serverOf(place.slot);
      if (place.isRequested || (place.server !== null && place.server === server)) continue;
      place.isRequested = true;
      const slots = servers.get(server ?? '') ?? new Map<number, Map<string, Place>>();
      servers.set(server ?? '', slots);
      slots.set(place.slot, (slots.get(place.slot) ?? new Map<string, Place>()).set(channel, place));
    }
    for (const slots of servers.values()) void this.#restoreAll(slots, restored);
  }

  close(): void {
    this.#places.clear();
  }

  async #restoreAll(slots: ReadonlyMap<number, Places>, restored: Restored): Promise<void> {
    const late = new Set(slots.keys());
    const requested = [...slots].map(async ([slot, places]) => {
      await this.#request(slot, places, true);
      if (!late.delete(slot)) await restored([...places.keys()]);
    });
    await Promise.race([Promise.all(requested), pause(TOGETHER_MS, undefined, { ref: false })]);
    const inPlace = [...slots].filter(([slot]) => !late.has(slot));
    late.clear();
    await restored(inPlace.flatMap(([, places]) => [...places.keys()]));
  }

  /** `isKnown`: the library has the request already. */
  async #request(slot: number, places: Places, isKnown: boolean): Promise<void> {
    for (let tries = 0; this.#wanted(places).length > 0; tries += 1) {
      const server = this.#serverOf(slot);
      try {
        // The library keeps every request, also a refused one: without this it would keep the channels many times.
        if (isKnown || tries > 0) await this.#inParts(places, (part) => this.#connection.sunsubscribe(...part));
        await this.#inParts(places, (part) => this.#connection.ssubscribe(...part));
        for (const place of places.values()) Object.assign(place, { isRequested: false, server });
        return;
      } catch (error) {
        if (tries === 0) this.#warn(`subscription failed and is repeated: ${String(error)}`);
        await pause(REPEAT_MS, undefined, { ref: false });
      }
    }
  }

  async #inParts(places: Places, send: (channels: readonly string[]) => Promise<unknown>): Promise<void> {
    const channels = this.#wanted(places);
    const parts = Array.from({ length: Math.ceil(channels.length / MOST_AT_ONCE) }, (_, n) =>
      channels.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE),
    );
    await Promise.all(parts.map((part) => send(part)));
  }

  /** Those that were neither given up nor requested anew since. */
  #wanted(places: Places): string[] {
    return [...places].flatMap(([channel, place]) => (this.#places.get(channel) === place ? [channel] : []));
  }

  #serverOf(slot: number): string | null {
    return this.#connection instanceof Cluster ? (this.#connection.slots[slot]?.[0] ?? null) : null;
  }
}

/** The slot of a key or of a channel of a slot: of its hash tag where it has one. */
export function slotOf(name: string): number {
  const open = name.indexOf('{');
  const close = open < 0 ? -1 : name.indexOf('}', open);
  let crc = 0;
  for (const byte of Buffer.from(close > open + 1 ? name.slice(open + 1, close) : name)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL) & 0xffff;
  }
  return crc % SLOTS;
}
