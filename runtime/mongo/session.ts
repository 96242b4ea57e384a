import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import type { Collection, Db, MongoClient } from 'mongodb';
import type { Scalar } from '../documents.ts';
import { unreachableStore } from '../errors.ts';
import { notAnswered, notOpen, publicError } from './failures.ts';

/**
 * A document in MongoDB: its scalars under their own names, so that any tool can show them, and the rest as JSON text
 * (keys such as `$ref` and nested lists need no special treatment then). Names with a capital letter are ours: no
 * queryable field of a document has one.
 */
export type Row = {
  _id: string;
  tenant: string;
  id: string;
  version: number;
  restJson: string;
  [name: string]: Scalar;
};

/** The documents of one collection, whichever client is in use. */
export interface Rows {
  /** `database.collection`. */
  readonly namespace: string;
  /**
   * Makes one call of the driver. It ends within a time limit (`unavailable`); other failures are the driver's own
   * errors.
   */
  ask<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
  /**
   * `ask` for a call that only reads. While the server is known to be unavailable it fails as soon as the search for a
   * server does.
   */
  look<T>(call: (rows: Collection<Row>) => Promise<T>): Promise<T>;
}

interface SessionOptions {
  /** Creates a client that connects at its first call. */
  readonly newClient: () => MongoClient;
  readonly database: string;
  readonly waits: MongoWaits;
}

/**
 * An open connection to the database that outlives the driver's clients: it replaces a client that no longer monitors
 * its servers, or that left a call without an end. The driver would connect again by itself after `close`; a session
 * does not.
 */
export class MongoSession {
  readonly #options: SessionOptions;
  readonly #closing = new Set<Promise<void>>();
  #client: MongoClient;
  /** The database of `#client`. The driver makes a new object, and copies all options, at each call of `db`. */
  #database: Db;
  #heartbeats: Heartbeats;
  #isClosed = false;
  /** Whether the last finished call got no answer. */
  #isUnreachable = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#client = options.newClient();
    this.#database = this.#client.db(options.database);
    this.#heartbeats = new Heartbeats(this.#client);
  }

  /** Runs calls of the driver. Failures become SvcErrors: `unavailable` when a repeat may succeed. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw notOpen();
    try {
      return await call();
    } catch (cause) {
      throw publicError(cause);
    }
  }

  /**
   * Makes one call of the driver on the current client. The driver limits all of its waits but one: when a socket is
   * closed while the driver writes to it, it waits for ever and keeps the connection.
   */
  async ask<T>(call: (database: Db) => Promise<T>, { reads = false } = {}): Promise<T> {
    const client = await this.#openClient();
    const [database, heartbeats] = [this.#database, this.#heartbeats];
    const { waits } = this.#options;
    const isQuick = reads && this.#isUnreachable;
    const limitMs = isQuick ? waits.selectionMs : longestCallMs(waits);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      if (!isQuick) this.#replace(client);
      reject(notAnswered(new Error(`the driver did not end a call within ${limitMs} ms`)));
    }, limitMs);
    try {
      const answer = await Promise.race([drive(() => call(database)), late]);
      this.#isUnreachable = false;
      heartbeats.answered();
      return answer;
    } catch (cause) {
      this.#isUnreachable = unreachableStore(publicError(cause)) !== null;
      if (!this.#isUnreachable) heartbeats.answered();
      throw cause;
    } finally {
      clearTimeout(timer);
      // A call that was under way when its client was closed may have connected it again.
      if (client !== this.#client || this.#isClosed) this.#leave(client);
    }
  }

  rows(name: string): Rows {
    let known: { readonly database: Db; readonly rows: Collection<Row> } | null = null;
    const rowsIn = (database: Db): Collection<Row> => {
      if (known?.database !== database) known = { database, rows: database.collection<Row>(name) };
      return known.rows;
    };
    return {
      namespace: `${this.#options.database}.${name}`,
      ask: (call) => this.ask((database) => call(rowsIn(database))),
      look: (call) => this.ask((database) => call(rowsIn(database)), { reads: true }),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leave(this.#client);
    await Promise.all(this.#closing);
  }

  async #openClient(): Promise<MongoClient> {
    const isSilent = (): boolean => this.#heartbeats.silentMs > mostSilentMs(this.#options.waits);
    // This thread may have been blocked: the driver first reads what arrived meanwhile, and begins the checks that are due.
    if (isSilent()) await timersFirst();
    if (this.#isClosed) throw notOpen();
    if (isSilent()) this.#replace(this.#client);
    return this.#client;
  }

  #replace(client: MongoClient): void {
    if (client !== this.#client || this.#isClosed) return;
    this.#client = this.#options.newClient();
    this.#database = this.#client.db(this.#options.database);
    this.#heartbeats = new Heartbeats(this.#client);
    this.#leave(client);
  }

  /** Closes a client. Its errors no longer matter, and closing may wait for something that never ends. */
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

/** Resolves when every timer that is due has fired. */
const timersFirst = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Set during everything that the driver does for a call, including connecting and monitoring servers. */
const driving = new AsyncLocalStorage<true>();

/**
 * Ends the driver's wait for `drain`. The driver writes and waits for `drain` or an error. A socket that was closed but
 * has not reported it yet emits neither, so the driver would wait for ever. The driver's sockets therefore emit `drain`
 * once more when they close: the driver checks and finds them closed. Node reports plain TCP sockets only; for TLS the
 * limits in this file apply.
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
 * Detects whether the driver still monitors its servers. When a connection is closed during a monitoring check, at the
 * wrong moment, that check never ends (the driver writes to a closed socket and waits for `drain`) and no other one
 * starts: the client never finds a server again that it lost. Answers to calls show that it has one: a server that is
 * slow to answer checks, or a process that was busy, is no reason to close a client and its calls.
 */
class Heartbeats {
  readonly #newsAt = new Map<string, number>();
  #answeredAt = Number.NEGATIVE_INFINITY;

  constructor(client: MongoClient) {
    const onHeartbeat = ({ connectionId }: { readonly connectionId: string }): void => {
      this.#newsAt.set(connectionId, performance.now());
    };
    client.on('serverHeartbeatStarted', onHeartbeat);
    client.on('serverHeartbeatSucceeded', onHeartbeat);
    client.on('serverHeartbeatFailed', onHeartbeat);
    client.on('serverClosed', ({ address }) => this.#newsAt.delete(address));
  }

  /** A call was answered by a server. */
  answered(): void {
    this.#answeredAt = performance.now();
  }

  /**
   * Time since the last answer, or since the last report about the server that was checked least recently if that is later;
   * 0 when none is monitored.
   */
  get silentMs(): number {
    const now = performance.now();
    return now - Math.max(this.#answeredAt, Math.min(now, ...this.#newsAt.values()));
  }
}

/** Longest waits of the driver, in milliseconds, and the limits derived from them. */
export interface MongoWaits {
  /** For a usable server. A connection and its handshake may each take as long. */
  readonly selectionMs: number;
  /** Pause between two checks of a server. */
  readonly heartbeatMs: number;
  /** For a free connection of the pool: a burst of writes is not an outage. */
  readonly queueMs: number;
  /** For an answer on a socket, milliseconds. */
  readonly socketMs: number;
}

export const WAITS: MongoWaits = { selectionMs: 4_000, heartbeatMs: 5_000, queueMs: 15_000, socketMs: 30_000 };

/**
 * Longest time of a find or count on the server. It is below the socket's limit, so that the server returns an error
 * before the connection is cut.
 */
export const QUERY_TIMEOUT_MS = 20_000;

/** Allowance for timers that fire late on a busy machine. */
const SLACK_MS = 2_000;

/**
 * Longest time without a report from the driver about a monitored server: it connects and shakes hands, or waits for
 * the next check (a streamed check is answered within a pause and the time of a connection).
 */
export const mostSilentMs = ({ selectionMs, heartbeatMs }: MongoWaits): number =>
  selectionMs + Math.max(selectionMs, heartbeatMs) + SLACK_MS;

/** Longest time of one call of the driver by its own limits. */
export const longestCallMs = ({ selectionMs, queueMs, socketMs }: MongoWaits): number =>
  selectionMs + queueMs + socketMs + SLACK_MS;

/** Time within which a client works again after its server is back, whatever happened to its monitoring. */
export const recoveredWithinMs = (waits: MongoWaits): number => mostSilentMs(waits) + 2 * waits.selectionMs;
