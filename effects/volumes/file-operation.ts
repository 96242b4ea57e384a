import type { Stats } from 'node:fs';
import { beforeActing } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { FileEntry } from '../../usecases/ports/volumes.ts';
import { PathTraversal, type StorageEventName } from '../../usecases/ports/volumes.ts';
import { fileFailure } from './file-failure.ts';
import type { VolumeDocument } from './stored-volume.ts';
import { partsOf } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';

const MAX_SHOWN_CHARS = 1_024;

/** One operation on a path of a volume. Holds the volume meanwhile and publishes storage events. */
export class FileOperation implements AsyncDisposable {
  readonly volume: VolumeDocument;
  readonly #store: VolumeStore;
  readonly #path: string;
  readonly #release: () => void;

  private constructor(store: VolumeStore, volume: VolumeDocument, path: string, release: () => void) {
    this.#store = store;
    this.volume = volume;
    this.#path = path;
    this.#release = release;
  }

  /** Throws `not_found` if the tenant has no such volume. */
  static async begin(store: VolumeStore, tenant: string, volumeId: string, path: string): Promise<FileOperation> {
    const release = store.hold(tenant, volumeId);
    try {
      const volume = await beforeActing(store.parts.records.get(tenant, volumeId));
      return new FileOperation(store, volume, path, release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Runs the operation. Publishes an event for a path that leaves the volume; translates system errors. */
  async run<T>(work: (root: string, parts: string[]) => Promise<T>): Promise<T> {
    try {
      const parts = partsOf(this.#path);
      return await work(await this.#store.directory(this.volume), parts);
    } catch (thrown) {
      const failure = fileFailure(thrown, this.#path.slice(0, MAX_SHOWN_CHARS));
      if (failure instanceof PathTraversal) {
        this.publish('PathTraversalBlocked', { attempted_path: this.#path.slice(0, MAX_SHOWN_CHARS) });
      }
      throw failure;
    }
  }

  publish(event: StorageEventName, details: JsonObject): void {
    this.#store.publish(this.volume, event, details, this.#path.slice(0, MAX_SHOWN_CHARS));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#release();
  }
}

export const entryOf = (name: string, stats: Stats): FileEntry => ({
  name,
  kind: kindOf(stats),
  size_bytes: stats.isFile() ? stats.size : 0,
  modified_at: stats.mtime.toISOString(),
});

function kindOf(stats: Stats): FileEntry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
