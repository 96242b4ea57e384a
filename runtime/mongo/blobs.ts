import { type GridFSBucket, type GridFSFile, GridFSBucket as GridFs, MongoRuntimeError, type ObjectId } from 'mongodb';
import type { Blobs } from '../blobs.ts';
import { checkBytes, checkReference, referenceOf, unknownBlob } from '../documents/blob-reference.ts';
import { MongoConnection, type MongoOptions } from './connection.ts';
import { keyOf } from './row.ts';

const READ_ATTEMPTS = 3;

/**
 * Blobs in GridFS (bucket `blobs`), a file named `tenant/ref`. Every upload has an id of its own: an upload cut off by
 * a crash leaves chunks that belong to no file, which nobody reads and which stand in no later upload's way.
 */
export class MongoBlobs implements Blobs {
  readonly #connection: MongoConnection;

  constructor(options: MongoOptions) {
    this.#connection = new MongoConnection(options);
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async put(tenant: string, bytes: Uint8Array): Promise<string> {
    const ref = referenceOf(tenant, bytes);
    const name = keyOf(tenant, ref);
    await this.#connection.session.run(async () => {
      const bucket = this.#bucket();
      if ((await this.#files(bucket, name)).length > 0) return;
      const mine = await this.#upload(bucket, name, bytes);
      // Two may have uploaded the same bytes at once: the first id stays, everybody else removes their own.
      const [first] = await this.#files(bucket, name);
      if (first !== undefined && !first._id.equals(mine)) await bucket.delete(mine);
    });
    return ref;
  }

  async get(tenant: string, ref: string): Promise<Uint8Array> {
    checkReference(tenant, ref);
    const bytes = await this.#connection.session.run(() => this.#read(keyOf(tenant, ref)));
    checkBytes(ref, bytes);
    return bytes;
  }

  async delete(tenant: string, ref: string): Promise<void> {
    checkReference(tenant, ref);
    await this.#connection.session.run(async () => {
      const bucket = this.#bucket();
      for (const file of await this.#files(bucket, keyOf(tenant, ref))) {
        // Deleted by somebody else meanwhile is deleted too.
        await bucket.delete(file._id).catch((error: unknown) => {
          if (!(error instanceof MongoRuntimeError)) throw error;
        });
      }
    });
  }

  #bucket(): GridFSBucket {
    return new GridFs(this.#connection.session.database, { bucketName: 'blobs' });
  }

  #files(bucket: GridFSBucket, name: string): Promise<GridFSFile[]> {
    return bucket.find({ filename: name }).sort({ _id: 1 }).toArray();
  }

  #upload(bucket: GridFSBucket, name: string, bytes: Uint8Array): Promise<ObjectId> {
    const stream = bucket.openUploadStream(name);
    return new Promise((resolve, reject) => {
      stream.once('error', reject);
      stream.once('finish', () => resolve(stream.id));
      stream.end(bytes);
    });
  }

  /** Reads again when the file it found was the one a concurrent equal upload removed. */
  async #read(name: string): Promise<Uint8Array> {
    const bucket = this.#bucket();
    for (let attempt = 1; ; attempt += 1) {
      const [file] = await this.#files(bucket, name);
      if (file === undefined) throw unknownBlob();
      try {
        const chunks: Uint8Array[] = [];
        for await (const chunk of bucket.openDownloadStream(file._id)) chunks.push(chunk);
        return Buffer.concat(chunks);
      } catch (error) {
        if (!(error instanceof MongoRuntimeError) || attempt === READ_ATTEMPTS) throw error;
      }
    }
  }
}
