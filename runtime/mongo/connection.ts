import { type Db, MongoClient, MongoError, MongoNetworkError, MongoServerError, MongoSystemError } from 'mongodb';
import { SvcError } from '../errors.ts';

export interface MongoOptions {
  /** Connection string; replica set, TLS and credentials are its options. Never logged. */
  readonly uri: string;
  /** Default `svc`. */
  readonly database?: string;
}

const SELECTION_TIMEOUT_MS = 5_000;
const SOCKET_TIMEOUT_MS = 30_000;
/** How long a call may wait for a free connection of the pool: a burst of writes is no outage. */
const QUEUE_TIMEOUT_MS = 15_000;
/** What a find or count may take on the server; below the socket's limit, so the answer is an error and not a cut. */
export const QUERY_TIMEOUT_MS = 20_000;

const DUPLICATE_KEY = 11_000;
const AUTHENTICATION_FAILED = 18;
/** Not primary, shutting down, stepped down, out of time, write concern not reached: another moment may do. */
const PASSING_CODES = new Set([6, 7, 50, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** One open connection pool. After `close` the driver would connect again by itself: a session does not. */
export class MongoSession {
  readonly database: Db;
  readonly #client: MongoClient;
  #isClosed = false;

  constructor(client: MongoClient, database: string) {
    this.#client = client;
    this.database = client.db(database);
  }

  /** Runs calls of the driver; its failures leave as SvcErrors: `unavailable` when trying again may help. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw notOpen();
    try {
      return await call();
    } catch (cause) {
      if (cause instanceof MongoError) throw publicError(cause);
      throw isSocketError(cause) ? notAnswered(cause) : cause;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }
}

/** A client that finds its server again by itself; every wait in it ends. Acknowledged means journalled by a majority. */
export class MongoConnection {
  readonly #options: MongoOptions;
  #session: MongoSession | undefined;

  constructor(options: MongoOptions) {
    this.#options = options;
  }

  /** Throws `unavailable` when no server answers, `invalid_config` for a bad URI or refused credentials. */
  async open(): Promise<void> {
    if (this.#session !== undefined) return;
    const client = this.#newClient();
    const session = new MongoSession(client, this.#options.database ?? 'svc');
    try {
      await session.run(async () => {
        await client.connect();
        await session.database.command({ ping: 1 });
      });
    } catch (error) {
      await session.close();
      throw error;
    }
    this.#session = session;
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  /** Throws `unavailable` when not open. */
  get session(): MongoSession {
    if (this.#session === undefined) throw notOpen();
    return this.#session;
  }

  #newClient(): MongoClient {
    try {
      return new MongoClient(this.#options.uri, {
        appName: 'svc',
        serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
        connectTimeoutMS: SELECTION_TIMEOUT_MS,
        socketTimeoutMS: SOCKET_TIMEOUT_MS,
        waitQueueTimeoutMS: QUEUE_TIMEOUT_MS,
        writeConcern: { w: 'majority', journal: true, wtimeoutMS: SOCKET_TIMEOUT_MS / 2 },
        ignoreUndefined: true,
      });
    } catch {
      // The constructor only reads the URI. What it throws may repeat parts of it, a password too: it is not passed on.
      throw new SvcError('invalid_config', 'the MongoDB URI is malformed', { field: 'uri' });
    }
  }
}

/** True when a write was refused because its id or a unique tuple exists. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  // FerretDB 1 answers 11000 to inserts, but an internal error with SQLite's text to an update.
  return error.code === DUPLICATE_KEY || error.message.includes('UNIQUE constraint failed');
}

function isPassing(error: MongoError): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError) return true;
  if (error instanceof MongoServerError) {
    // What ends a bulk write on its way, such as a broken connection, comes wrapped.
    const wrapped: unknown = error.errorResponse;
    if (wrapped instanceof MongoError) return isPassing(wrapped);
    if (isSocketError(wrapped)) return true;
    return (
      (typeof error.code === 'number' && PASSING_CODES.has(error.code)) || error.hasErrorLabel('RetryableWriteError')
    );
  }
  // Closed, not connected, waited too long for a connection: all are the driver's own errors about its state.
  return /Closed|NotConnected|Expired|WaitQueue|PoolCleared|Interrupted/.test(error.constructor.name);
}

function publicError(cause: MongoError): SvcError {
  if (cause.code === AUTHENTICATION_FAILED) {
    return new SvcError('invalid_config', 'MongoDB refused the credentials', { field: 'uri' });
  }
  if (isPassing(cause)) return notAnswered(cause);
  return new SvcError('internal', undefined, { cause });
}

/** A write on a socket that just ended leaves the driver as Node's own error (EPIPE, ECONNRESET). */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(E[A-Z]+|ERR_S(OCKET|TREAM)_\w+)$/.test(String(error.code));
}

const notAnswered = (cause: unknown): SvcError =>
  new SvcError('unavailable', 'the document store did not answer', { cause });

const notOpen = (): SvcError => new SvcError('unavailable', 'the document store is not open');
