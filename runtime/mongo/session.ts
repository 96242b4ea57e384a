import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import type { Collection, Db, MongoClient } from 'mongodb';
import type { Scalar } from '../documents.ts';
import { storeAway } from '../errors.ts';
import { notAnswered, notOpen, publicError } from './failures.ts';

/**
 * A document as MongoDB holds it: its scalars under their own names, so that they can be looked at with any tool, and
 * the rest as JSON text (keys such as `$ref` and lists in lists are no matter then). Names with a capital are ours:
 * no field of a document that can be queried has one.
 */
export type Row = {
  _id: string;
  tenant: string;
  id: string;
  version: number;
  restJson: string;
  [name: string]: Scalar;
};

/** The documents of one collection, whichever client is asked. */
export interface Rows {
  /** `database.collection`. */
  readonly namespace: string;
  /** One call of the driver; it ends in time (`unavailable`), failures leave as the driver's own. */
  ask<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
  /** The same of a call that only reads: while the server is known to be away it ends as soon as one that looks for it. */
  look<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
}

interface SessionOptions {
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

/** Set in all that the driver does on behalf of a call, its connecting and its looking at servers among it. */
const driving = new AsyncLocalStorage<true>();

/**
 * The driver writes and waits for `drain` or an error. A socket that was closed, but has not said so yet, gives neither,
 * so the driver would wait for ever: its sockets say `drain` once more when they close, it looks, and sees the closing.
 * Node tells of plain TCP sockets only; for TLS there are the limits of session.ts.
 */
subscribe('net.client.socket', (message) => {
  if (driving.getStore() !== true) return;
  if (typeof message !== 'object' || message === null || !('socket' in message)) return;
  const { socket } = message;
  if (socket instanceof Socket) socket.once('close', () => socket.emit('drain'));
});

/** Runs a call of the driver so that none of its waits outlives its socket. */
function drive<T>(call: () => Promise<T>): Promise<T> {
  return driving.run(true, call);
}

/**
 * Hears whether the driver still looks at its servers. When a connection is closed under a look, at the wrong moment,
 * that look never ends (the driver writes to a closed socket and waits for `drain`), no other one is begun, and the
 * client never again finds a server that it lost.
 */
class Heartbeats {
  readonly #newsAt = new Map<string, number>();

  constructor(client: MongoClient) {
    const heard = ({ connectionId }: { readonly connectionId: string }): void => {
      this.#newsAt.set(connectionId, performance.now());
    };
    client.on('serverHeartbeatStarted', heard);
    client.on('serverHeartbeatSucceeded', heard);
    client.on('serverHeartbeatFailed', heard);
    client.on('serverClosed', ({ address }) => this.#newsAt.delete(address));
  }

  /** How long nothing was heard of the server that was looked at least lately; 0 when none is looked at. */
  get silentMs(): number {
    return performance.now() - Math.min(performance.now(), ...this.#newsAt.values());
  }
}

/** How long the driver may wait for each thing, in milliseconds, and what follows from it. */
export interface MongoWaits {
  /** For a server that can be asked; a connection and its handshake may take as long each. */
  readonly selectionMs: number;
  /** Between two looks at a server. */
  readonly heartbeatMs: number;
  /** For a free connection of the pool: a burst of writes is no outage. */
  readonly queueMs: number;
  /** For an answer on a socket. */
  readonly socketMs: number;
}

export const WAITS: MongoWaits = { selectionMs: 4_000, heartbeatMs: 5_000, queueMs: 15_000, socketMs: 30_000 };

/** What a find or count may take on the server; below the socket's limit, so the answer is an error and not a cut. */
export const QUERY_TIMEOUT_MS = 20_000;

/** For timers that fire late on a busy machine. */
const SLACK_MS = 2_000;

/**
 * The longest time in which the driver says nothing about a server it looks at: it connects and shakes hands, or waits
 * for the next look (a streamed look is answered within a pause and a connection's time).
 */
const mostSilentMs = ({ selectionMs, heartbeatMs }: MongoWaits): number =>
  selectionMs + Math.max(selectionMs, heartbeatMs) + SLACK_MS;

/** The longest time one call of the driver may take by its own limits. */
export const longestCallMs = ({ selectionMs, queueMs, socketMs }: MongoWaits): number =>
  selectionMs + queueMs + socketMs + SLACK_MS;

/** Within this a client whose server is back serves again, whatever became of its looking at it. */
export const recoveredWithinMs = (waits: MongoWaits): number => mostSilentMs(waits) + 2 * waits.selectionMs;
