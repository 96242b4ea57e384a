import { setTimeout as pause } from 'node:timers/promises';
import type { Unsubscribe } from '../actor-store.ts';
import type { Connection } from './connection.ts';

/** Calls wait this long for a subscription at most: without it they only miss a wake-up. */
const SETTLE_MS = 500;

type Receive = (message: Buffer) => void;

/**
 * Pub/sub: what is published here only shortens a wait, a lost message costs a poll. One subscription a channel,
 * shared by all listeners; they come back by themselves after a reconnect.
 */
export class Bulletins {
  readonly #connection: Connection;
  readonly #warn: (warning: string) => void;
  readonly #listeners = new Map<string, Set<Receive>>();
  #pending = 0;
  #settled: Promise<void> | null = null;

  constructor(connection: Connection, warn: (warning: string) => void) {
    this.#connection = connection;
    this.#warn = warn;
    connection.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      const listeners = this.#listeners.get(channel.toString('utf8'));
      if (listeners !== undefined) for (const receive of listeners) receive(message);
    });
  }

  /** Resolves when every subscription asked for is in place (or took too long); null when none is on its way. */
  readonly settled = (): Promise<void> | null => this.#settled;

  listen(channel: string, receive: Receive): Unsubscribe {
    let listeners = this.#listeners.get(channel);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(channel, listeners);
      this.#change(this.#connection.subscribe(channel));
    }
    const own: Receive = (message) => receive(message);
    listeners.add(own);
    return () => {
      if (!listeners.delete(own) || listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      this.#change(this.#connection.unsubscribe(channel));
    };
  }

  #change(done: Promise<unknown>): void {
    this.#pending += 1;
    const ended = done
      .then(
        () => undefined,
        (error: unknown) =>
          this.#warn(`subscription failed: ${error instanceof Error ? error.message : String(error)}`),
      )
      .then(() => {
        this.#pending -= 1;
        if (this.#pending === 0) this.#settled = null;
      });
    const all = this.#settled === null ? ended : Promise.all([this.#settled, ended]).then(() => undefined);
    this.#settled = Promise.race([all, pause(SETTLE_MS, undefined, { ref: false })]);
  }
}
