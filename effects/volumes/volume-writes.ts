import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { SvcError } from '../../runtime/errors.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import type { Random } from '../../runtime/random.ts';
import type { VolumeFiles } from '../../usecases/ports/volumes.ts';
import { systemCode } from './file-failure.ts';
import { FileOperation } from './file-operation.ts';
import { quotaExceeded, usedBytes } from './quota-watch.ts';
import { openDirectory, openParent, type Place } from './tree.ts';
import { giveFile, refuseGitConfiguration, UPLOADS } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const isUploads = (path: string): boolean => path === `/${UPLOADS}`;

/** Writing files: content grows aside, then takes its place in one step if the volume has room for it. */
export function createVolumeWriter(store: VolumeStore, random: Random): Pick<VolumeFiles, 'write'> {
  const turns = new OneAtATimePerKey();
  return {
    async write(tenant, volumeId, path, content, { expected, byTool = false } = {}) {
      await using operation = await FileOperation.begin(store, tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        const { place, name } = await openParent(root, parts, replaceOrMake(expected));
        await using target = place;
        if (byTool) refuseGitConfiguration([...target.parts, name]);
        await using uploads = await openDirectory(root, [UPLOADS], true);
        const upload = uploads.entry(`upload-${random.uuid()}`);
        const room = new Room(operation, root, store.parts.disk.enforces);
        try {
          const bytes = await grow(upload, content, await room.left(target, name), room);
          // One after another: what two writers see of the room that is left is never the same room.
          const created = await turns.run(`${tenant}/${volumeId}`, async () => {
            if (bytes > (await room.left(target, name))) throw room.refusal(bytes);
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

/** What replaces known content goes to the very file that was read, also over a link. */
const replaceOrMake = (expected: Uint8Array | undefined) =>
  expected === undefined ? { make: true } : { make: false, follow: true };

/** Permissions of a file that holds just these bytes. Throws `conflict` for another. */
async function modeIfHolding(place: Place, name: string, expected: Uint8Array): Promise<number> {
  await using file = await open(place.entry(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await file.stat();
  if (stats.isFile() && stats.size === expected.length) {
    const content = Buffer.alloc(expected.length);
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    if (bytesRead === expected.length && content.equals(expected)) return stats.mode & 0o777;
  }
  throw new SvcError('conflict', 'the file was changed meanwhile', { field: 'path' });
}

/** Writes the content to a new file; refuses it as soon as it cannot fit. Answers how long it is. */
async function grow(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  left: number,
  room: Room,
): Promise<number> {
  await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  let bytes = 0;
  const pieces = content instanceof Uint8Array ? [content] : content;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > left) throw room.refusal(bytes);
    await writeAll(file, piece, room);
  }
  await file.sync();
  return bytes;
}

async function writeAll(file: FileHandle, piece: Uint8Array, room: Room): Promise<void> {
  try {
    for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
  } catch (thrown) {
    throw systemCode(thrown) === 'ENOSPC' ? room.noSpace(thrown) : thrown;
  }
}

/** What a volume still takes, a file that is replaced not counted. */
class Room {
  readonly #operation: FileOperation;
  readonly #root: string;
  readonly #enforced: boolean;

  constructor(operation: FileOperation, root: string, enforced: boolean) {
    this.#operation = operation;
    this.#root = root;
    this.#enforced = enforced;
  }

  async left(target: Place, name: string): Promise<number> {
    const limit = this.#operation.volume.size_limit_bytes;
    if (limit === null) return Number.POSITIVE_INFINITY;
    return limit - (await usedBytes(this.#root, isUploads)) + ((await sizeOf(target, name)) ?? 0);
  }

  refusal(requestedBytes: number): Error {
    const limit = this.#operation.volume.size_limit_bytes ?? 0;
    this.#operation.publish('QuotaExceeded', { requested_bytes: requestedBytes, size_limit_bytes: limit });
    return quotaExceeded(limit);
  }

  /** Only in a file system of the volume's own is a full one the volume's limit; else the machine's disk is full. */
  noSpace(thrown: unknown): unknown {
    return this.#enforced ? this.refusal(0) : thrown;
  }
}

/** Null when there is none. A file with further names keeps its bytes when this name is replaced. */
async function sizeOf(place: Place, name: string): Promise<number | null> {
  try {
    const stats = await lstat(place.entry(name));
    return stats.isFile() && stats.nlink === 1 ? stats.size : 0;
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}
