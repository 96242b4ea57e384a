import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { SvcError } from '../../runtime/errors.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { Random } from '../../runtime/random.ts';
import type { VolumeFiles } from '../../usecases/ports/volumes.ts';
import { FileOperation } from './file-operation.ts';
import { giveFile } from './ownership.ts';
import { quotaExceeded, usedBytes } from './quota-watch.ts';
import { type OpenDirectory, openDirectory, openParent } from './tree.ts';
import { refuseGitConfiguration, UPLOADS } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const isUploads = (path: string): boolean => path === `/${UPLOADS}`;

/** Writes files: uploads the content to a temporary file, then moves it into place atomically if the volume has space for it. */
export function createVolumeWriter(store: VolumeStore, random: Random): Pick<VolumeFiles, 'write'> {
  const queue = new OneAtATimePerKey();
  return {
    async write(tenant, volumeId, path, content, { expected, byTool = false } = {}) {
      await using operation = await FileOperation.begin(store, tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        const { place, name } = await openParent(root, parts, replaceOrMake(expected));
        await using target = place;
        if (byTool) refuseGitConfiguration([...target.parts, name]);
        await using uploads = await openDirectory(root, [UPLOADS], true);
        const upload = uploads.entry(`upload-${random.uuid()}`);
        const space = new FreeSpace(operation, root, store.parts.disk.enforces);
        try {
          const bytes = await writeUpload(upload, content, await space.left(target, name), space);
          // Serialised, so that two writers never count on the same free space.
          const created = await queue.run(`${tenant}/${volumeId}`, async () => {
            if (bytes > (await space.left(target, name))) throw space.refusal(bytes);
            const mode = expected === undefined ? null : await modeIfHolding(target, name, expected);
            await giveFile(upload, target.self, mode);
            const isNew = (await sizeOf(target, name)) === null;
            await rename(upload, target.entry(name));
            return isNew;
          });
          operation.publish(created ? 'FileCreated' : 'FileWritten', { offset: 0, bytes_written: bytes });
          return { path: `/${[...target.parts, name].join('/')}`, bytes_written: bytes, created };
        } catch (thrown) {
          await rm(upload, { force: true });
          throw thrown;
        }
      });
    },
  };
}

/** A replacement of known content goes to the file that was read, also through a link. */
const replaceOrMake = (expected: Uint8Array | undefined) =>
  expected === undefined ? { make: true } : { make: false, follow: true };

/** The mode of a file that contains exactly these bytes. Throws `conflict` for other content. */
async function modeIfHolding(place: OpenDirectory, name: string, expected: Uint8Array): Promise<number> {
  await using file = await open(place.entry(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await file.stat();
  if (stats.isFile() && stats.size === expected.length) {
    const content = Buffer.alloc(expected.length);
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    if (bytesRead === expected.length && content.equals(expected)) return stats.mode & 0o777;
  }
  throw new SvcError('conflict', 'the file has changed meanwhile', { field: 'path' });
}

/** Writes the content to a new file and returns its length; throws as soon as it exceeds the space. */
async function writeUpload(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  left: number,
  space: FreeSpace,
): Promise<number> {
  await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  let bytes = 0;
  const pieces = content instanceof Uint8Array ? [content] : content;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > left) throw space.refusal(bytes);
    await writeAll(file, piece, space);
  }
  await file.sync();
  return bytes;
}

async function writeAll(file: FileHandle, piece: Uint8Array, space: FreeSpace): Promise<void> {
  try {
    for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
  } catch (thrown) {
    throw systemCode(thrown) === 'ENOSPC' ? space.noSpace(thrown) : thrown;
  }
}

/** The free space of a volume, not counting the file that is replaced. */
class FreeSpace {
  readonly #operation: FileOperation;
  readonly #root: string;
  readonly #enforced: boolean;

  constructor(operation: FileOperation, root: string, enforced: boolean) {
    this.#operation = operation;
    this.#root = root;
    this.#enforced = enforced;
  }

  async left(target: OpenDirectory, name: string): Promise<number> {
    const limit = this.#operation.volume.size_limit_bytes;
    if (limit === null) return Number.POSITIVE_INFINITY;
    return limit - (await usedBytes(this.#root, isUploads)) + ((await sizeOf(target, name)) ?? 0);
  }

  refusal(requestedBytes: number): Error {
    const limit = this.#operation.volume.size_limit_bytes ?? 0;
    this.#operation.publish('QuotaExceeded', { requested_bytes: requestedBytes, size_limit_bytes: limit });
    return quotaExceeded(limit);
  }

  /** ENOSPC means the volume's limit only in an image; otherwise the disk of the machine is full. */
  noSpace(thrown: unknown): unknown {
    return this.#enforced ? this.refusal(0) : thrown;
  }
}

/** Null if the file does not exist; 0 for a file with other names, whose bytes stay when this name is replaced. */
async function sizeOf(place: OpenDirectory, name: string): Promise<number | null> {
  try {
    const stats = await lstat(place.entry(name));
    return stats.isFile() && stats.nlink === 1 ? stats.size : 0;
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}
