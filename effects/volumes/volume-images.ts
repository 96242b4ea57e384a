import { execFile } from 'node:child_process';
import { mkdir, open, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';

const run = promisify(execFile);

/** Directory below the volumes; no tenant's name starts with a dot. */
const IMAGES = '.images';
const MiB = 1024 * 1024;

/**
 * Volumes as ext4 file systems in files, mounted at their directories: all writers get ENOSPC beyond the limit. For nodes that
 * may mount and do not share the directory with other nodes.
 */
export class VolumeImages {
  readonly #root: string;
  /** Serialises mounts and removals of a volume. */
  readonly #alone = new OneAtATimePerKey();

  constructor(root: string) {
    this.#root = root;
  }

  /** Creates the image if missing and mounts it if not mounted. */
  mount(tenant: string, volumeId: string, directory: string, sizeBytes: number): Promise<void> {
    return this.#alone.run(directory, async () => {
      if (await isMounted(directory)) return;
      const image = this.#imageOf(tenant, volumeId);
      if (!(await exists(image))) await makeImage(image, sizeBytes);
      await tool('mount', ['-o', 'loop,nosuid,nodev', image, directory]);
      await rmdir(join(directory, 'lost+found')).catch(() => {});
    });
  }

  remove(tenant: string, volumeId: string, directory: string): Promise<void> {
    return this.#alone.run(directory, async () => {
      if (await isMounted(directory)) await tool('umount', ['--lazy', directory]);
      await rm(this.#imageOf(tenant, volumeId), { force: true });
    });
  }

  #imageOf(tenant: string, volumeId: string): string {
    return join(this.#root, IMAGES, tenant, `${volumeId}.ext4`);
  }
}

/** Opens the images and tests them with one mount. Returns null and the reason if this node may not mount. */
export async function openVolumeImages(
  root: string,
): Promise<{ readonly images: VolumeImages } | { readonly images: null; readonly reason: string }> {
  const images = new VolumeImages(root);
  const probe = join(root, IMAGES, '.probe');
  try {
    await mkdir(probe, { recursive: true, mode: 0o700 });
    await images.remove('.try', 'probe', probe);
    await images.mount('.try', 'probe', probe, 4 * MiB);
    return { images };
  } catch (thrown) {
    return { images: null, reason: thrown instanceof Error ? thrown.message : String(thrown) };
  } finally {
    await images.remove('.try', 'probe', probe).catch(() => {});
  }
}

/** Creates the image under a temporary name, so that a crash leaves no incomplete file system. */
async function makeImage(image: string, sizeBytes: number): Promise<void> {
  await mkdir(dirname(image), { recursive: true, mode: 0o700 });
  const half = `${image}.half`;
  await rm(half, { force: true });
  const file = await open(half, 'wx', 0o600);
  try {
    await file.truncate(imageBytes(sizeBytes));
  } finally {
    await file.close();
  }
  await tool('mkfs.ext4', ['-q', '-F', '-m', '0', '-O', '^has_journal', '-i', '16384', half]);
  await rename(half, image);
}

/** Adds space for the metadata of the file system. */
const imageBytes = (sizeBytes: number): number => Math.ceil((sizeBytes * 1.03 + 2 * MiB) / 4_096) * 4_096;

async function isMounted(directory: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  const shown = directory.replaceAll('\\', '\\134').replaceAll(' ', '\\040');
  return mounts.split('\n').some((line) => line.split(' ')[1] === shown);
}

async function exists(path: string): Promise<boolean> {
  return open(path, 'r').then(
    (file) => file.close().then(() => true),
    () => false,
  );
}

async function tool(name: string, args: readonly string[]): Promise<void> {
  const env = { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' };
  try {
    await run(name, [...args], { env, timeout: 60_000 });
  } catch (cause) {
    throw new SvcError('unavailable', `a size-limited volume could not be prepared (${name} failed)`, { cause });
  }
}
