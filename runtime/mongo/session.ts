import type { Collection, Db, MongoClient } from 'mongodb';
import { storeAway } from '../errors.ts';
import { drive } from './closed-sockets.ts';
import { notAnswered, notOpen, publicError } from './failures.ts';
import { Heartbeats } from './heartbeats.ts';
import type { Row } from './row.ts';
import { longestCallMs, type MongoWaits, mostSilentMs } from './waits.ts';

/** The documents of one collection, whichever client is asked. */
export interface Rows {
  /** `database.collection`. */
  readonly namespace: string;
  /** One call of the driver; it ends in time (`unavailable`), failures leave as the driver's own. */
  ask<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
  /** The same of a call that only reads: while the server is known to be away it ends as soon as one that looks for it. */
  look<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
}

export interface SessionOptions {
  /** A client that connects at its first call. */
  readonly newClient: () => MongoClient;
  readonly database: string;
  readonly waits: MongoWaits;
}

/**
 * An open way to the database that outlives the driver's clients: one that no longer looks at its servers, or left a
 * call without an end, is replaced. After `close` the driver would connect again by itself: a session does not.
 */
export class MongoSession {
  readonly #options: SessionOptions;
  readonly #closing = new Set<Promise<void>>();
  #client: MongoClient;
  #heartbeats: Heartbeats;
  #isClosed = false;
  /** The last call that ended was not answered. */
  #isAway = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#client = options.newClient();
    this.#heartbeats = new Heartbeats(this.#client);
  }

  /** Runs calls of the driver; its failures leave as SvcErrors: `unavailable` when trying again may help. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw notOpen();
    try {
      return await call();
    } catch (cause) {
      throw publicError(cause);
    }
  }

  /**
   * One call of the driver, on the client of this moment. The driver has limits of its own for all it waits for but
   * one: a socket that is closed while it is written to, where it waits for ever and keeps the connection.
   */
  async ask<T>(call: (database: Db) => Promise<T>, { reads = false } = {}): Promise<T> {
    const client = this.#lively();
    const { waits } = this.#options;
    const isQuick = reads && this.#isAway;
    const limitMs = isQuick ? waits.selectionMs : longestCallMs(waits);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      if (!isQuick) this.#replace(client);
      reject(notAnswered(new Error(`the driver did not end a call within ${limitMs} ms`)));
    }, limitMs);
    try {
      const answer = await Promise.race([drive(() => call(client.db(this.#options.database))), late]);
      this.#isAway = false;
      return answer;
    } catch (cause) {
      this.#isAway = storeAway(publicError(cause)) !== null;
      throw cause;
    } finally {
      clearTimeout(timer);
      // A call that was on its way when its client was closed may have connected it again.
      if (client !== this.#client || this.#isClosed) this.#leave(client);
    }
  }

  rows(name: string): Rows {
    return {
      namespace: `${this.#options.database}.${name}`,
      ask: (call) => this.ask((database) => call(database.collection<Row>(name))),
      look: (call) => this.ask((database) => call(database.collection<Row>(name)), { reads: true }),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leave(this.#client);
    await Promise.all(this.#closing);
  }

  #lively(): MongoClient {
    if (this.#isClosed) throw notOpen();
    if (this.#heartbeats.silentMs > mostSilentMs(this.#options.waits)) this.#replace(this.#client);
    return this.#client;
  }

  #replace(client: MongoClient): void {
    if (client !== this.#client || this.#isClosed) return;
    this.#client = this.#options.newClient();
    this.#heartbeats = new Heartbeats(this.#client);
    this.#leave(client);
  }

  /** Closes a client. What goes wrong there hurts nobody any more, and closing may wait for what never ends. */
  #leave(client: MongoClient): void {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, 2 * this.#options.waits.selectionMs);
    const closed = client.close().then(
      () => {},
      () => {},
    );
    const left = Promise.race([closed, late]).finally(() => {
      clearTimeout(timer);
      this.#closing.delete(left);
    });
    this.#closing.add(left);
  }
}
