import { readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { KnownVolume } from '../../manifests/metadata.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { Mount } from '../../usecases/ports/commands.ts';
import type { VolumeDirectories, VolumeHolds, VolumeQuotas } from '../../usecases/ports/volumes.ts';
import { fileFailure } from '../volumes/file-failure.ts';
import { openDirectory, openParent } from '../volumes/tree.ts';
import { partsOf } from '../volumes/volume-path.ts';
import { type Bind, WORKSPACE } from './view.ts';

/**
 * Another condition that ends a run, such as a full volume. Started before the program. Returns the function that ends the
 * guard and resolves with why the run has failed, else null.
 */
export type Guard = (end: (why: SvcError) => void) => Promise<() => Promise<SvcError | null>>;

/** The ports of volumes that process effects need. */
export type ProcessVolumes = VolumeDirectories & VolumeHolds & VolumeQuotas;

export const Mounts = z.array(Mount).max(50);

export interface OpenMount extends Bind {
  readonly volumeId: string;
  readonly sizeLimitBytes: number | null;
  readonly known: KnownVolume;
}

/** Opens the directories of mounted volumes. Throws `not_found`, and `invalid_argument` for two at one path. */
export async function openMounts(
  volumes: ProcessVolumes,
  tenant: string,
  mounts: readonly Mount[],
): Promise<OpenMount[]> {
  const opened: OpenMount[] = [];
  for (const { volume_id, mount_path, read_only, create, known } of mounts) {
    const path = `/${partsOf(mount_path).join('/')}`;
    if (opened.some((other) => other.path === path)) {
      throw invalidField('mounts', `two volumes at ${path}`);
    }
    const volume = await volumes.open(tenant, volume_id, { create, known });
    opened.push({ ...volume, path, readOnly: read_only, volumeId: volume_id });
  }
  return opened;
}

/**
 * For nodes without views: volumes below the workspace become symbolic links. Throws `unsupported_isolation` for a read-only
 * volume, which a link cannot enforce.
 */
export async function linkMounts(workspace: string, mounts: readonly OpenMount[]): Promise<void> {
  for (const { path, directory, readOnly } of mounts) {
    if (readOnly) {
      const text = `volumes: ${path} is read-only, which this node cannot enforce for a process: use read-write, or a container`;
      throw new SvcError('unsupported_isolation', text, { field: 'volumes' });
    }
    if (path === WORKSPACE) continue;
    const { place, name } = await openParent(workspace, partsOf(path).slice(1), { make: true });
    await using at = place;
    try {
      await symlink(directory, at.entry(name));
    } catch (thrown) {
      if (systemCode(thrown) !== 'EEXIST') throw fileFailure(thrown, path);
      const there = await readlink(at.entry(name)).catch(() => null);
      if (there !== directory) throw new SvcError('failed_precondition', `${path} already exists`);
    }
  }
}

/**
 * Creates the mount points in their parent volumes before anything is mounted: mounting follows links, and a program may have
 * left one that leads out of the volume. Throws `PathTraversal` for such a link.
 */
export async function makeMountPoints(workspace: string, mounts: readonly OpenMount[]): Promise<void> {
  for (const { path } of mounts) {
    if (path === WORKSPACE) continue;
    const others = mounts.filter((other) => other.path !== path);
    await makeWorkdir(workspace, others, path).catch((thrown: unknown) => {
      throw fileFailure(thrown, path);
    });
  }
}

/** Creates the working directory, in the workspace or in the volume mounted there. */
export async function makeWorkdir(
  workspace: string,
  mounts: readonly OpenMount[],
  workdir: string,
): Promise<{ readonly host: string; readonly viewed: string }> {
  const parts = partsOf(workdir).slice(1);
  const viewed = [WORKSPACE, ...parts].join('/');
  const [holder] = mounts
    .filter(({ path }) => path !== WORKSPACE && `${viewed}/`.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length);
  const root = holder?.directory ?? workspace;
  const below = holder === undefined ? parts : partsOf(viewed.slice(holder.path.length));
  await using place = await openDirectory(root, below, holder?.readOnly !== true);
  return { host: join(root, ...place.parts), viewed };
}

export type GuardedVolume = Pick<OpenMount, 'volumeId' | 'known'>;

/** Holds volumes while a program runs in them, and ends it when one exceeds its limit. */
export const volumeGuard =
  (volumes: ProcessVolumes, tenant: string, used: readonly GuardedVolume[]): Guard =>
  async (end) => {
    const releases = used.map(({ volumeId }) => volumes.hold(tenant, volumeId));
    const full = (): SvcError => new SvcError('quota_exceeded', 'a volume the program writes to is full (ENOSPC)');
    const stops: (() => Promise<boolean>)[] = [];
    try {
      for (const [id, known] of new Map(used.map(({ volumeId, known }) => [volumeId, known])))
        stops.push(await volumes.watch(tenant, id, () => end(full()), known));
    } catch (thrown) {
      for (const release of releases) release();
      for (const stop of stops) await stop();
      throw thrown;
    }
    return async () => {
      for (const release of releases) release();
      const broken = await Promise.all(stops.map((stop) => stop()));
      return broken.includes(true) ? full() : null;
    };
  };
