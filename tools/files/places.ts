import type { ToolMount } from '../../manifests/tool/call.ts';
import type { ToolScope } from '../../manifests/tool/scope.ts';
import type { VolumeDirectories, VolumeFiles } from '../../usecases/ports/volumes.ts';
import { type ToolCall, ToolFailure } from '../tool.ts';

/** The ports of fs.*. */
export interface FilePorts {
  readonly files: VolumeFiles;
  /** Creates the workspace of an execution on first use. */
  readonly volumes: Pick<VolumeDirectories, 'open'>;
  /**
   * The agent's `spec.security.filesystem` (security/policy), checked for each file: a search reaches paths that no argument
   * names.
   */
  mayTouch(scope: ToolScope, path: string, access: Access): boolean;
}

type Access = 'read' | 'write';

/** A path of an agent and its volume. */
export interface FilePlace {
  /** The absolute path as agents write it. */
  readonly path: string;
  readonly volumeId: string;
  /** Path below the volume's root; '' for the root. */
  readonly inVolume: string;
}

/** The caller that uses a path, and its rules. */
export interface FileCaller {
  readonly tenant: string;
  readonly run: Pick<ToolCall['run'], 'subject' | 'scope'>;
}

/** Finds the volume of a path by its longest mount. Throws `ToolFailure` for a path outside the mounts or a forbidden one. */
export async function placeOf(
  ports: FilePorts,
  { run, tenant }: FileCaller,
  given: string,
  access: Access,
): Promise<FilePlace> {
  if (goesUp(given)) throw ToolFailure.denied('PathTraversalAttempt', `path: ${shown(given)} contains a part "..".`);
  const path = absolutePath(given);
  const mount = mountOf(mountsOf(run.subject), path);
  if (mount === null) {
    throw ToolFailure.denied('PathOutsideBoundary', `path: ${shown(path)} is outside the workspace and its mounts.`);
  }
  if (access === 'write' && mount.read_only) {
    throw ToolFailure.denied('PathOutsideBoundary', `path: ${shown(path)} is mounted read-only.`);
  }
  checkRules(ports, run.scope, path, access);
  if (mount.create) await ports.volumes.open(tenant, mount.volume_id, { create: true });
  return { path, volumeId: mount.volume_id, inVolume: below(path, mountPath(mount)) ?? '' };
}

/** Checks the rules of the scope for a path. Throws `ToolFailure` `PathOutsideBoundary`. */
export function checkRules({ mayTouch }: FilePorts, scope: ToolScope, path: string, access: Access): void {
  if (mayTouch(scope, path, access)) return;
  const text = `path: the agent's filesystem rules do not allow it to ${access} ${shown(path)}.`;
  throw ToolFailure.denied('PathOutsideBoundary', text);
}

/** The mounts strictly below a path, which a search of the path includes. */
export async function placesBelow(ports: FilePorts, { run, tenant }: ToolCall, path: string): Promise<FilePlace[]> {
  const places: FilePlace[] = [];
  for (const mount of mountsOf(run.subject)) {
    const at = mountPath(mount);
    if (at === path || below(at, path) === null) continue;
    if (mount.create) await ports.volumes.open(tenant, mount.volume_id, { create: true });
    places.push({ path: at, volumeId: mount.volume_id, inVolume: '' });
  }
  return places;
}

/** Entries of a directory at or below which a volume is mounted. */
export function mountNames({ run }: FileCaller, path: string): string[] {
  const names = mountsOf(run.subject)
    .map((mount) => below(mountPath(mount), path)?.split('/')[0])
    .filter((name): name is string => name !== undefined && name !== '');
  return [...new Set(names)];
}

const shown = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path);

/** The mounts, plus the execution's own workspace unless a volume is mounted there. A caller without execution has none. */
function mountsOf({ mounts, execution_id }: ToolCall['run']['subject']): readonly ToolMount[] {
  if (execution_id === null || mounts.some((mount) => mountPath(mount) === WORKSPACE)) return mounts;
  return [...mounts, { volume_id: execution_id, mount_path: WORKSPACE, read_only: false, create: true }];
}

function mountOf(mounts: readonly ToolMount[], path: string): ToolMount | null {
  let found: ToolMount | null = null;
  for (const mount of mounts) {
    if (below(path, mountPath(mount)) === null) continue;
    if (found === null || mountPath(mount).length > mountPath(found).length) found = mount;
  }
  return found;
}

const mountPath = ({ mount_path }: ToolMount): string => absolutePath(mount_path);

export const WORKSPACE = '/workspace';

/** The directory that an agent means: `/` also means the workspace. */
export const directoryOf = (path: string): string => (/^\/+$/.test(path) ? WORKSPACE : path);

/** The absolute path without doubled slashes and dots. Keeps `..`, which the caller must refuse. */
export function absolutePath(path: string): string {
  const from = path.startsWith('/') ? path : `${WORKSPACE}/${path}`;
  const parts = from.split('/').filter((part) => part !== '' && part !== '.');
  return `/${parts.join('/')}`;
}

/** Whether the path has a part `..`. Such a path is refused even if it stays inside (W33). */
const goesUp = (path: string): boolean => path.split('/').includes('..');

/**
 * The path relative to a directory; '' for the directory itself, null when it is not below. Both paths are results of
 * `absolutePath`.
 */
export function below(path: string, directory: string): string | null {
  if (path === directory) return '';
  const prefix = directory === '/' ? '/' : `${directory}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}
