import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from '../blobs.ts';
import { checkBytes, checkReference, referenceOf, unknownBlob } from '../documents/blob-reference.ts';
import { SvcError } from '../errors.ts';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

function notUsable(what: string, cause: unknown): SvcError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  return new SvcError('unavailable', `${what} (${code})`, { store: 'blobs', cause });
}

/** A name is on disk only when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Blobs as files `blobs/TENANT/REF` of the data directory. Files and not a table: writing 16 MiB happens off the event
 * loop, is written once instead of twice (no log), and deleting gives the space back. A file appears under its name
 * only when complete and on disk.
 */
export class FileBlobs implements Blobs {
  readonly #root: string;
  readonly #incoming: string;
  #isOpen = false;

  constructor(options: { readonly directory: string }) {
    this.#root = join(options.directory, 'blobs');
    this.#incoming = join(this.#root, 'incoming');
  }

  /** Also removes what a crash left half written. */
  async open(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#incoming)) await rm(join(this.#incoming, name), { force: true });
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
  }

  async put(tenant: string, bytes: Uint8Array): Promise<string> {
    this.#checkOpen();
    const ref = referenceOf(tenant, bytes);
    const path = this.#path(tenant, ref);
    const stored = await stat(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (stored?.size === bytes.byteLength) return ref;
    await this.#write(tenant, path, bytes).catch((cause: unknown) => {
      throw notUsable('a payload could not be stored', cause);
    });
    return ref;
  }

  async get(tenant: string, ref: string): Promise<Uint8Array> {
    this.#checkOpen();
    checkReference(tenant, ref);
    try {
      const bytes = await readFile(this.#path(tenant, ref));
      checkBytes(ref, bytes);
      return bytes;
    } catch (error) {
      if (isMissing(error)) throw unknownBlob();
      throw error instanceof SvcError ? error : notUsable('a payload could not be read', error);
    }
  }

  async delete(tenant: string, ref: string): Promise<void> {
    this.#checkOpen();
    checkReference(tenant, ref);
    await rm(this.#path(tenant, ref), { force: true });
  }

  async #write(tenant: string, path: string, bytes: Uint8Array): Promise<void> {
    const temporary = join(this.#incoming, randomUUID());
    const directory = this.#tenantDirectory(tenant);
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
      if (made !== undefined) await syncDirectory(this.#root);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** A hash, because `Acme` and `acme` are two tenants, but one directory where file names ignore case. */
  #tenantDirectory(tenant: string): string {
    return join(this.#root, createHash('sha256').update(tenant).digest('hex').slice(0, 32));
  }

  #path(tenant: string, ref: string): string {
    return join(this.#tenantDirectory(tenant), ref);
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw new SvcError('unavailable', 'the payload store is not open', { store: 'blobs' });
  }
}
