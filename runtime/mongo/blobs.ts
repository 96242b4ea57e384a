import { type Db, GridFSBucket, type GridFSFile, MongoRuntimeError, type ObjectId } from 'mongodb';
import type { Blobs } from '../blobs.ts';
import {
  checkBytes,
  checkReference,
  ownerPart,
  partsOf,
  referenceOf,
  unknownBlob,
} from '../documents/blob-reference.ts';
import { checkKey } from '../documents/document-query.ts';
import { keyOf } from './collection.ts';
import { MongoConnection, type MongoOptions } from './connection.ts';
import type { MongoSession } from './session.ts';

const READ_ATTEMPTS = 3;

/**
 * Blobs in GridFS (bucket `blobs`), in files named `tenant/ref`. Every upload has its own id: an upload interrupted by
 * a crash leaves chunks without a file, which are never read and do not disturb later uploads.
 */
export class MongoBlobs implements Blobs {
  readonly #connection: MongoConnection;
  readonly #mostBytes: number | undefined;

  constructor({ mostBytes, ...options }: MongoOptions & { readonly mostBytes?: number }) {
    this.#connection = new MongoConnection(options);
    this.#mostBytes = mostBytes;
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async put(tenant: string, bytes: Uint8Array, owner?: string): Promise<string> {
    const ref = referenceOf(tenant, bytes, owner, this.#mostBytes);
    const name = nameOf(tenant, ref);
    const { session } = this.#connection;
    await session.run(async () => {
      if ((await filesOf(session, name)).length > 0) return;
      const mine = await session.ask((database) => upload(bucketOf(database), name, bytes));
      // Two clients may have uploaded the same bytes at once: the first id stays, and the other client removes its own.
      const [first] = await filesOf(session, name);
      if (first === undefined || first._id.equals(mine)) return;
      await session.ask((database) => bucketOf(database).delete(mine));
    });
    return ref;
  }

  async get(tenant: string, ref: string): Promise<Uint8Array> {
    checkReference(tenant, ref);
    const { session } = this.#connection;
    const bytes = await session.run(() => read(session, nameOf(tenant, ref)));
    checkBytes(ref, bytes);
    return bytes;
  }

  async delete(tenant: string, ref: string): Promise<void> {
    checkReference(tenant, ref);
    await this.#deleteFiles(nameOf(tenant, ref));
  }

  async deleteOwned(tenant: string, owner: string): Promise<void> {
    checkKey(tenant, owner);
    const prefix = keyOf(tenant, ownerPart(owner));
    // All names with this prefix; `0` is the character after `/`.
    await this.#deleteFiles({ $gt: `${prefix}/`, $lt: `${prefix}0` });
  }

  #deleteFiles(name: Names): Promise<void> {
    const { session } = this.#connection;
    return session.run(async () => {
      for (const file of await filesOf(session, name)) {
        const deleted = session.ask((database) => bucketOf(database).delete(file._id));
        // A file that another client deleted meanwhile is deleted too.
        await deleted.catch((error: unknown) => {
          if (!(error instanceof MongoRuntimeError)) throw error;
        });
      }
    });
  }
}

/** One name, or all names between two. */
type Names = string | { readonly $gt: string; readonly $lt: string };

/** File name of a blob. The names of one owner have the same prefix, so that they are found together. */
function nameOf(tenant: string, ref: string): string {
  const { digest, owner } = partsOf(ref);
  return keyOf(tenant, owner === null ? digest : `${owner}/${digest}`);
}

const bucketOf = (database: Db): GridFSBucket => new GridFSBucket(database, { bucketName: 'blobs' });

function filesOf(session: MongoSession, name: Names): Promise<GridFSFile[]> {
  return session.ask((database) => bucketOf(database).find({ filename: name }).sort({ _id: 1 }).toArray());
}

function upload(bucket: GridFSBucket, name: string, bytes: Uint8Array): Promise<ObjectId> {
  const stream = bucket.openUploadStream(name);
  return new Promise((resolve, reject) => {
    stream.once('error', reject);
    stream.once('finish', () => resolve(stream.id));
    stream.end(bytes);
  });
}

async function download(bucket: GridFSBucket, id: ObjectId): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bucket.openDownloadStream(id)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Reads a blob. It reads again when the file that it found was removed by a concurrent upload of the same bytes. */
async function read(session: MongoSession, name: string): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    const [file] = await filesOf(session, name);
    if (file === undefined) throw unknownBlob();
    try {
      return await session.ask((database) => download(bucketOf(database), file._id));
    } catch (error) {
      if (!(error instanceof MongoRuntimeError) || attempt === READ_ATTEMPTS) throw error;
    }
  }
}
