import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
import { SvcError } from '../errors.ts';
import { systemCode } from '../kit/system-code.ts';

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(systemCode(error));

function notUsable(what: string, cause: unknown): SvcError {
  const code = systemCode(cause);
  return new SvcError('unavailable', `${what} (${code})`, { store: 'blobs', cause });
}

/** Makes file names in a directory durable: a name is on disk only when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Blobs as files `blobs/TENANT/REF` of the data directory; the files of an owner are in a directory of their own below
 * it. They are files and not a table because writing 16 MiB then happens off the event loop and once instead of twice
 * (no log), and deleting returns the space. A file appears under its name only when it is complete and on disk.
 */
export class FileBlobs implements Blobs {
  readonly #root: string;
  readonly #incoming: string;
  readonly #mostBytes: number | undefined;
  readonly #onFailed: () => void;
  #isOpen = false;

  /** `onFailed`: called when a payload could not be written. */
  constructor(options: { readonly directory: string; readonly mostBytes?: number; readonly onFailed?: () => void }) {
    this.#root = join(options.directory, 'blobs');
    this.#incoming = join(this.#root, 'incoming');
    this.#mostBytes = options.mostBytes;
    this.#onFailed = options.onFailed ?? (() => {});
  }

  /** Folder on the disk of the payloads. What is in it at an opening is removed. */
  get incoming(): string {
    return this.#incoming;
  }

  /** Opens the directory and removes files that a crash left half written. */
  async open(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#incoming)) await rm(join(this.#incoming, name), { force: true });
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
  }

  async put(tenant: string, bytes: Uint8Array, owner?: string): Promise<string> {
    this.#checkOpen();
    const ref = referenceOf(tenant, bytes, owner, this.#mostBytes);
    const path = this.#path(tenant, ref);
    const stored = await stat(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (stored?.size === bytes.byteLength) return ref;
    await this.#write(path, bytes).catch((cause: unknown) => {
      this.#onFailed();
      throw notUsable('a payload could not be stored', cause);
    });
    return ref;
  }

  async get(tenant: string, ref: string): Promise<Uint8Array> {
    this.#checkOpen();
    checkReference(tenant, ref);
    const bytes = await readFile(this.#path(tenant, ref)).catch(async (error: unknown) => {
      if (!isMissing(error)) throw notUsable('a payload could not be read', error);
      // Without the directory itself nothing is known about its content: the disk may not be mounted, for example.
      await stat(this.#root).catch((cause: unknown) => {
        throw notUsable('a payload could not be read', cause);
      });
      throw unknownBlob();
    });
    checkBytes(ref, bytes);
    return bytes;
  }

  async delete(tenant: string, ref: string): Promise<void> {
    this.#checkOpen();
    checkReference(tenant, ref);
    await rm(this.#path(tenant, ref), { force: true });
  }

  async deleteOwned(tenant: string, owner: string): Promise<void> {
    this.#checkOpen();
    checkKey(tenant, owner);
    await rm(join(this.#tenantDirectory(tenant), ownerPart(owner)), { recursive: true, force: true });
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const temporary = join(this.#incoming, randomUUID());
    const directory = dirname(path);
    try {
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      const made = await mkdir(directory, { recursive: true, mode: 0o700 });
      await rename(temporary, path);
      await syncDirectory(directory);
      for (let child = directory; made !== undefined && child !== this.#root; child = dirname(child)) {
        await syncDirectory(dirname(child));
      }
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /**
   * Directory of a tenant. It is a hash, because `Acme` and `acme` are two tenants but one directory where file names
   * ignore case.
   */
  #tenantDirectory(tenant: string): string {
    return join(this.#root, createHash('sha256').update(tenant).digest('hex').slice(0, 32));
  }

  #path(tenant: string, ref: string): string {
    const { digest, owner } = partsOf(ref);
    const directory = this.#tenantDirectory(tenant);
    return owner === null ? join(directory, digest) : join(directory, owner, digest);
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw new SvcError('unavailable', 'the payload store is not open', { store: 'blobs' });
  }
}
