import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where programs find their workspace when the node can give each a view of its own. */
export const WORKSPACE = '/workspace';
/** Below the workspaces; no tenant's name starts with a dot. */
const VIEW = '.view';

/**
 * Runs in a mount namespace of its own, where nothing it mounts is seen by anybody else. Builds a root at $1 that holds
 * everything of the real one, puts directories in (host directory, path, rw or ro; ended by --), then goes to $2 there
 * and becomes the program, with the PATH it was given. The root is unbindable, so that binding what holds it does not copy it into itself.
 */
const SCRIPT = `
set -e
root=$1 directory=$2 given=$PATH
shift 2
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs -o size=1m,mode=755 svc-view "$root"
mount --make-unbindable "$root"
for entry in /* /.[!.]*; do
  [ "$entry" = ${WORKSPACE} ] && continue
  if [ -L "$entry" ]; then cp -P "$entry" "$root/"
  elif [ -d "$entry" ]; then mkdir "$root$entry" && mount --rbind "$entry" "$root$entry"
  elif [ -f "$entry" ]; then : >"$root$entry" && mount --bind "$entry" "$root$entry"
  fi
done
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
  shift 3
done
shift
exec chroot "$root" /bin/sh -c 'PATH=$1 && cd "$2" && shift 2 && exec "$@"' svc-view "$given" "$directory" "$@"
`;

/** A host directory and where a program finds it. */
export interface Bind {
  readonly directory: string;
  /** At or under `/workspace`. */
  readonly path: string;
  readonly readOnly: boolean;
}

export interface ViewedProgram {
  readonly program: string;
  readonly args: readonly string[];
}

/** Lets a program find its workspace at `/workspace`, as containers do. For its convenience: it is no sandbox. */
export class WorkspaceView {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The same program, started through the view; binds are put in order, outer ones first. */
  through({ program, args }: ViewedProgram, binds: readonly Bind[], directory: string): ViewedProgram {
    const ordered = binds.toSorted((a, b) => a.path.length - b.path.length);
    const mounts = ordered.flatMap((bind) => [bind.directory, bind.path, bind.readOnly ? 'ro' : 'rw']);
    return {
      program: '/usr/bin/unshare',
      args: ['-m', '/bin/sh', '-c', SCRIPT, 'svc-view', this.#root, directory, ...mounts, '--', program, ...args],
    };
  }
}

/** Whether this node may give programs a view of their own, found out by doing it once. Call it at start. */
export async function openWorkspaceView(
  workspaces: string,
): Promise<{ readonly view: WorkspaceView } | { readonly view: null; readonly reason: string }> {
  if (process.platform !== 'linux') return { view: null, reason: 'mount namespaces need Linux' };
  const probe = join(workspaces, '.probe');
  try {
    await mkdir(join(workspaces, VIEW), { recursive: true, mode: 0o700 });
    await mkdir(probe, { recursive: true, mode: 0o700 });
    const view = new WorkspaceView(join(workspaces, VIEW));
    const look = { program: '/bin/sh', args: ['-c', 'pwd && : >probe && test -e /proc/self'] };
    const bind = { directory: probe, path: WORKSPACE, readOnly: false };
    const { program, args } = view.through(look, [bind], WORKSPACE);
    const { stdout } = await run(program, [...args], { env: { PATH: '/usr/bin:/bin' }, timeout: 10_000 });
    return stdout === `${WORKSPACE}\n` ? { view } : { view: null, reason: 'the view is not the one asked for' };
  } catch (thrown) {
    return { view: null, reason: reasonOf(thrown) };
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

function reasonOf(thrown: unknown): string {
  const said = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim().split('\n')[0] : '';
  if (said) return said;
  return thrown instanceof Error && 'code' in thrown ? `unshare failed (${String(thrown.code)})` : 'unshare failed';
}
