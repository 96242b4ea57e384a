import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { fileFailure } from './file-failure.ts';
import { removeTree } from './tree.ts';
import type { VolumeImages } from './volume-images.ts';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;

/** The directories of volumes: `<root>/<tenant>/<volume id>`, accessible only for this user. */
export class VolumeDisk {
  readonly #root: string;
  readonly #images: VolumeImages | null;

  /** `images`: a volume with a limit is a file system of that size. */
  constructor(root: string, images: VolumeImages | null) {
    this.#root = root;
    this.#images = images;
  }

  /** Whether the file system enforces the limit. */
  get enforces(): boolean {
    return this.#images !== null;
  }

  /** Throws `not_found` for ids that could lead out of the root. */
  pathOf(tenant: string, volumeId: string): string {
    if (!SEGMENT.test(tenant) || !SEGMENT.test(volumeId)) throw new SvcError('not_found', 'volume not found');
    return join(this.#root, tenant, volumeId);
  }

  /** Creates the directory if missing. Throws `unavailable` if the disk fails. */
  async make(tenant: string, volumeId: string, sizeLimitBytes: number | null): Promise<string> {
    const directory = this.pathOf(tenant, volumeId);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (!(await lstat(directory)).isDirectory()) {
        throw new SvcError('failed_precondition', 'the path of the volume is not a directory');
      }
      if (this.#images !== null && sizeLimitBytes !== null) {
        await this.#images.mount(tenant, volumeId, directory, sizeLimitBytes);
      }
      return directory;
    } catch (thrown) {
      throw fileFailure(thrown, 'the volume');
    }
  }

  async remove(tenant: string, volumeId: string): Promise<void> {
    const directory = this.pathOf(tenant, volumeId);
    await this.#images?.remove(tenant, volumeId, directory);
    // Never follows links.
    await removeTree(directory);
  }

  /** All directories of volumes. */
  async *all(): AsyncGenerator<{ readonly tenant: string; readonly volumeId: string; readonly changedAt: number }> {
    for (const tenant of await directoriesOf(this.#root)) {
      for (const volumeId of await directoriesOf(join(this.#root, tenant))) {
        const found = await lstat(join(this.#root, tenant, volumeId)).catch(() => null);
        if (found !== null) yield { tenant, volumeId, changedAt: found.ctimeMs };
      }
    }
  }
}

async function directoriesOf(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && SEGMENT.test(entry.name)).map(({ name }) => name);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
