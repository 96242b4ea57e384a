import { MongoClient } from 'mongodb';
import { SvcError } from '../errors.ts';
import { notOpen } from './failures.ts';
import { MongoSession, type MongoWaits, WAITS } from './session.ts';

export interface MongoOptions {
  /** Connection string; its options give replica set, TLS and credentials. Never logged. */
  readonly uri: string;
  /** Name of the database. Default `svc`. */
  readonly database?: string;
  /** Limits of the driver's waits. Default `WAITS`. */
  readonly waits?: MongoWaits;
}

/**
 * A client that reconnects by itself and in which every wait has a limit. An acknowledged write is journalled by a
 * majority.
 */
export class MongoConnection {
  readonly #options: MongoOptions;
  #session: MongoSession | undefined;

  constructor(options: MongoOptions) {
    this.#options = options;
  }

  /** Connects. Throws `unavailable` when no server answers, `invalid_config` for a bad URI or refused credentials. */
  async open(): Promise<void> {
    if (this.#session !== undefined) return;
    const { uri, database = 'svc', waits = WAITS } = this.#options;
    const session = new MongoSession({ newClient: () => newClient(uri, waits), database, waits });
    try {
      await session.run(() => session.ask((open) => open.command({ ping: 1 })));
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

  /** Throws `unavailable` when the connection is not open. */
  get session(): MongoSession {
    if (this.#session === undefined) throw notOpen();
    return this.#session;
  }
}

function newClient(uri: string, { selectionMs, heartbeatMs, queueMs, socketMs }: MongoWaits): MongoClient {
  try {
    return new MongoClient(uri, {
      appName: 'svc',
      serverSelectionTimeoutMS: selectionMs,
      connectTimeoutMS: selectionMs,
      heartbeatFrequencyMS: heartbeatMs,
      socketTimeoutMS: socketMs,
      waitQueueTimeoutMS: queueMs,
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: socketMs / 2 },
      ignoreUndefined: true,
    });
  } catch {
    // The constructor only parses the URI. Its error may repeat parts of it, including a password, so it is not passed
    // on.
    throw new SvcError('invalid_config', 'the MongoDB URI is malformed', { field: 'uri' });
  }
}
