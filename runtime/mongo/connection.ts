import {
  type Db,
  MongoAPIError,
  MongoClient,
  MongoError,
  MongoNetworkError,
  MongoParseError,
  MongoServerError,
  MongoSystemError,
} from 'mongodb';
import { SvcError } from '../errors.ts';

export interface MongoOptions {
  /** Connection string; replica set, TLS and credentials are its options. Never logged. */
  readonly uri: string;
  /** Default `svc`. */
  readonly database?: string;
}

const SELECTION_TIMEOUT_MS = 5_000;
const SOCKET_TIMEOUT_MS = 30_000;
/** What a find or count may take on the server; below the socket's limit, so the answer is an error and not a cut. */
export const QUERY_TIMEOUT_MS = 20_000;

const DUPLICATE_KEY = 11_000;
const AUTHENTICATION_FAILED = 18;
/** Not primary, shutting down, stepped down, write concern not reached: another moment may do. */
const PASSING_CODES = new Set([6, 7, 64, 89, 91, 189, 9001, 10107, 11600, 11602, 13435, 13436]);

/** A client that finds its server again by itself; every wait in it ends. Acknowledged means journalled by a majority. */
export class MongoConnection {
  readonly #options: MongoOptions;
  #client: MongoClient | undefined;

  constructor(options: MongoOptions) {
    this.#options = options;
  }

  /** Throws `unavailable` when no server answers, `invalid_config` for a bad URI or refused credentials. */
  async open(): Promise<void> {
    if (this.#client !== undefined) return;
    const client = this.#newClient();
    try {
      await answered(async () => {
        await client.connect();
        await client.db(this.#options.database ?? 'svc').command({ ping: 1 });
      });
    } catch (error) {
      await client.close();
      throw error;
    }
    this.#client = client;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.close();
  }

  get database(): Db {
    if (this.#client === undefined) throw new SvcError('unavailable', 'the document store is not open');
    return this.#client.db(this.#options.database ?? 'svc');
  }

  #newClient(): MongoClient {
    try {
      return new MongoClient(this.#options.uri, {
        appName: 'svc',
        serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
        connectTimeoutMS: SELECTION_TIMEOUT_MS,
        socketTimeoutMS: SOCKET_TIMEOUT_MS,
        waitQueueTimeoutMS: SELECTION_TIMEOUT_MS,
        writeConcern: { w: 'majority', journal: true, wtimeoutMS: SOCKET_TIMEOUT_MS / 2 },
        ignoreUndefined: true,
      });
    } catch (error) {
      // The driver's text may repeat parts of the URI, which may hold a password: it is not passed on.
      if (error instanceof MongoParseError || error instanceof MongoAPIError || error instanceof TypeError) {
        throw new SvcError('invalid_config', 'the MongoDB URI is malformed', { field: 'uri' });
      }
      throw error;
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
    return (
      (typeof error.code === 'number' && PASSING_CODES.has(error.code)) || error.hasErrorLabel('RetryableWriteError')
    );
  }
  // Closed, not connected, waited too long for a connection: all are the driver's own errors about its state.
  return /Closed|NotConnected|Expired|WaitQueue|PoolCleared|Interrupted/.test(error.constructor.name);
}

/** Runs calls of the driver; its failures leave as SvcErrors: `unavailable` when trying again may help. */
export async function answered<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof MongoError)) throw cause;
    if (cause.code === AUTHENTICATION_FAILED) {
      throw new SvcError('invalid_config', 'MongoDB refused the credentials', { field: 'uri' });
    }
    if (isPassing(cause)) throw new SvcError('unavailable', 'the document store did not answer', { cause });
    throw new SvcError('internal', undefined, { cause });
  }
}
