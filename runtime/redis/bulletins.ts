import { setTimeout as pause } from 'node:timers/promises';
import type { Unsubscribe } from '../actor-store.ts';
import type { Connection } from './connection.ts';

/** An append waits this long for a subscription at most: without it its reply may only be found by looking. */
const SETTLE_MS = 500;
/** How often the link is asked for a sign of life, and how long that may take before it is renewed. */
const PROBE_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 4_000;

type Receive = (message: Buffer) => void;

interface Listening {
  /** False: what its hearer misses it finds by looking, so no append waits for it. */
  readonly awaited?: boolean;
  /** Messages may have been lost: the connection was broken, and the subscription is in place again. */
  readonly missed?: () => void;
}

/**
 * Pub/sub: what is published here only shortens a wait, a lost message costs a poll. One subscription a channel,
 * shared by all listeners; they come back by themselves after a reconnect.
 */
export class Bulletins {
  readonly #connection: Connection;
  readonly #commands: Connection;
  readonly #warn: (warning: string) => void;
  readonly #listeners = new Map<string, Map<Receive, () => void>>();
  readonly #probe: NodeJS.Timeout;
  #probing = false;
  #pending = 0;
  #settled: Promise<void> | null = null;

  /** `alive` is a channel on which nothing is published; `commands` is where hearers look for what they missed. */
  constructor(connection: Connection, alive: string, commands: Connection, warn: (warning: string) => void) {
    this.#connection = connection;
    this.#commands = commands;
    this.#warn = warn;
    this.#probe = setInterval(() => this.#look(alive), PROBE_EVERY_MS).unref();
    connection.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      const listeners = this.#listeners.get(channel.toString('utf8'));
      if (listeners !== undefined) for (const receive of listeners.keys()) receive(message);
    });
    // A Cluster moves its subscriptions to another node when theirs leaves.
    for (const event of ['ready', '+node', '-node']) connection.on(event, () => void this.#afterGap(alive));
  }

  close(): void {
    clearInterval(this.#probe);
  }

  /** Subscribing once more changes nothing and is answered, on one server and on a Cluster: a half-open link keeps silent. */
  #look(alive: string): void {
    if (this.#probing || this.#connection.status !== 'ready') return;
    this.#probing = true;
    const late = setTimeout(() => {
      this.#warn(`subscriptions: no answer within ${ANSWER_WITHIN_MS} ms, the connection is renewed`);
      // A Cluster that is left on purpose does not remember its channels.
      this.#connection.once('ready', () => this.#resubscribe());
      this.#connection.disconnect(true);
    }, ANSWER_WITHIN_MS).unref();
    this.#connection
      .subscribe(alive)
      .catch((error: unknown) => this.#warn(`subscription failed: ${String(error)}`))
      .finally(() => {
        clearTimeout(late);
        this.#probing = false;
      });
  }

  /** Behind this answer the channels of before are subscribed again: the client library asks for them first. */
  async #afterGap(alive: string): Promise<void> {
    if (this.#listeners.size === 0 || this.#connection.status !== 'ready') return;
    try {
      await this.#connection.subscribe(alive);
    } catch (error) {
      this.#warn(`subscription failed: ${String(error)}`);
    }
    const { promise: answering, resolve } = Promise.withResolvers<void>();
    if (this.#commands.status === 'ready') resolve();
    else this.#commands.once('ready', () => resolve());
    await answering;
    for (const listeners of this.#listeners.values()) for (const missed of listeners.values()) missed();
  }

  #resubscribe(): void {
    const channels = [...this.#listeners.keys()];
    if (channels.length > 0) this.#change(this.#connection.subscribe(...channels), false);
  }

  /** Resolves when the subscriptions that are waited for are in place (or took too long); null: none is on its way. */
  readonly settled = (): Promise<void> | null => this.#settled;

  listen(channel: string, receive: Receive, { awaited = true, missed = () => {} }: Listening = {}): Unsubscribe {
    let listeners = this.#listeners.get(channel);
    if (listeners === undefined) {
      listeners = new Map();
      this.#listeners.set(channel, listeners);
      this.#change(this.#connection.subscribe(channel), awaited);
    }
    const own: Receive = (message) => receive(message);
    listeners.set(own, missed);
    return () => {
      if (!listeners.delete(own) || listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      this.#change(this.#connection.unsubscribe(channel), false);
    };
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
