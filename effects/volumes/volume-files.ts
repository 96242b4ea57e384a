import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { Random } from '../../runtime/random.ts';
import type { FileEntry, VolumeFiles } from '../../usecases/ports/volumes.ts';
import { entryOf, FileOperation } from './file-operation.ts';
import { createFileSearch } from './search/file-search.ts';
import type { SearchThreads } from './search/threads.ts';
import { type OpenDirectory, openDirectory, openParent, openRoot, removeTree } from './tree.ts';
import { pathOf, UPLOADS } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';
import { createVolumeWriter } from './volume-writes.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const READ_BYTES = 16 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const LISTED = 1_000;
/** Names read of one directory. */
const MAX_NAMES = 100_000;

/** The port `VolumeFiles` over the directories of volumes. Writes and searches have their own files. */
export function createVolumeFiles(store: VolumeStore, random: Random, threads: SearchThreads): VolumeFiles {
  const on = (tenant: string, volumeId: string, path: string) => FileOperation.begin(store, tenant, volumeId, path);
  return {
    ...createVolumeWriter(store, random),
    ...createFileSearch(store, threads),

    async list(tenant, volumeId, path, limit = LISTED) {
      await using operation = await on(tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        await using at = await openDirectory(root, parts);
        const { names, truncated } = await namesOf(at, Math.max(1, Math.min(limit, MAX_NAMES)));
        const entries: FileEntry[] = [];
        for (const name of names) {
          const stats = await lstat(at.entry(name)).catch(() => null);
          if (stats !== null) entries.push(entryOf(name, stats));
        }
        operation.publish('DirectoryListed', { entry_count: entries.length });
        return { entries, truncated };
      });
    },

    async read(tenant, volumeId, path, maxBytes = READ_BYTES) {
      await using operation = await on(tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        await using file = await openFile(root, parts);
        const { size } = await file.stat();
        if (size > maxBytes) {
          const text = `${pathOf(parts)} has ${size} bytes, more than the limit of ${maxBytes}`;
          throw new SvcError('payload_too_large', text, { field: 'path' });
        }
        const content = await firstBytes(file, size);
        operation.publish('FileRead', { offset: 0, bytes_read: content.length });
        return content;
      });
    },

    async download(tenant, volumeId, path) {
      const operation = await on(tenant, volumeId, path);
      try {
        const file = await operation.run((root, parts) => openFile(root, parts));
        const { size } = await file.stat();
        let closed: Promise<void> | null = null;
        const close = (): Promise<void> => {
          closed ??= file.close().then(() => operation[Symbol.asyncDispose]());
          return closed;
        };
        return { sizeBytes: size, content: chunksOf(file, size, operation, close), close };
      } catch (thrown) {
        await operation[Symbol.asyncDispose]();
        throw thrown;
      }
    },

    async mkdir(tenant, volumeId, path) {
      await using operation = await on(tenant, volumeId, path);
      await operation.run(async (root, parts) => {
        await using _at = await openDirectory(root, parts, true);
        operation.publish('FileCreated', { directory: true });
      });
    },

    async delete(tenant, volumeId, path, { recursive = false } = {}) {
      await using operation = await on(tenant, volumeId, path);
      await operation.run(async (root, parts) => {
        const { place, name } = await openParent(root, parts);
        await using at = place;
        const found = await lstat(at.entry(name));
        if (!found.isDirectory()) await unlink(at.entry(name));
        else if (recursive) await removeAside(root, at.entry(name), random);
        else await rmdir(at.entry(name));
        operation.publish('FileDeleted', { directory: found.isDirectory() });
      });
    },
  };
}

async function namesOf(at: OpenDirectory, limit: number): Promise<{ names: string[]; truncated: boolean }> {
  const names: string[] = [];
  for await (const entry of await opendir(at.self)) {
    if (at.parts.length === 0 && entry.name === UPLOADS) continue;
    names.push(entry.name);
    if (names.length === MAX_NAMES) break;
  }
  return { names: names.sort().slice(0, limit), truncated: names.length > limit };
}

/** Opens a file to read, following links inside the volume. Never a device or a pipe, which could block forever. */
async function openFile(root: string, parts: readonly string[]): Promise<FileHandle> {
  const { place, name } = await openParent(root, parts, { follow: true });
  await using at = place;
  const file = await open(at.entry(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw new SvcError('failed_precondition', `${pathOf(parts)} is not a file`, { field: 'path' });
}

/** Reads up to the size at opening, so that a growing file has an end. */
async function firstBytes(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(content, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

async function* chunksOf(
  file: FileHandle,
  size: number,
  operation: FileOperation,
  close: () => Promise<void>,
): AsyncGenerator<Buffer> {
  let sent = 0;
  try {
    while (sent < size) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - sent));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, sent);
      if (bytesRead === 0) break;
      sent += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    operation.publish('FileRead', { offset: 0, bytes_read: sent });
    await close();
  }
}

/** Moves the directory away atomically before deleting it, so that concurrent commands see all of it or nothing. */
async function removeAside(root: string, entry: string, random: Random): Promise<void> {
  await using top = await openRoot(root);
  await mkdir(top.entry(UPLOADS), { mode: 0o700 }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error;
  });
  await using uploads = await top.child(UPLOADS);
  const aside = uploads.entry(`removed-${random.uuid()}`);
  await rename(entry, aside);
  await removeTree(aside);
}
