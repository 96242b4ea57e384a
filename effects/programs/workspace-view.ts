import { execFile } from 'node:child_process';
import type { Dirent } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Bind, type ProgramView, type ViewedProgram, type ViewOptions, WORKSPACE } from './view.ts';

const run = promisify(execFile);

/** Directory below the workspaces; no tenant's name starts with a dot. */
const VIEW = '.view';

/**
 * Runs in its own mount namespace. Builds a root at $1 with everything of the real root, mounts directories (host directory,
 * path, rw or ro; ended by --), changes to $2 there and executes the program with the given PATH. The root is unbindable, so
 * that it is not copied into itself; the entries of / were listed at start, so that one `mount` binds all of them. As process
 * 1 of its own process namespace it shows only that namespace in /proc and stays above the program, so that all processes end
 * with it, and writes nothing ("Terminated") into the program's output.
 */
const script = (table: string, top: TopLevel): string => `
set -e
root=$1 directory=$2 given=$PATH
shift 2
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs -o size=1m,mode=755,unbindable svc-view "$root"
cd "$root"
mkdir ${top.directories.map(quoted).join(' ')}
${top.links.length === 0 ? '' : `cp -P ${top.links.map((name) => quoted(`/${name}`)).join(' ')} .`}
mount -a -T ${quoted(table)}
[ $$ -ne 1 ] || mount -t proc -o nosuid,nodev,noexec svc-proc "$root/proc"
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
  shift 3
done
shift
[ $$ -ne 1 ] || exec chroot "$root" /bin/sh -c 'PATH=$1 && cd "$2" && shift 2 && exec 3>&2 2>/dev/null && ("$@") 2>&3 3>&-; exit $?' svc-view "$given" "$directory" "$@"
exec chroot "$root" /bin/sh -c 'PATH=$1 && cd "$2" && shift 2 && exec "$@"' svc-view "$given" "$directory" "$@"
`;

/** The entries of /, without files. */
interface TopLevel {
  readonly directories: readonly string[];
  readonly links: readonly string[];
}

async function topLevel(): Promise<TopLevel> {
  const entries = (await readdir('/', { withFileTypes: true })).filter(({ name }) => `/${name}` !== WORKSPACE);
  const named = (is: (entry: Dirent) => boolean): string[] => entries.filter(is).map(({ name }) => name);
  return { directories: named((entry) => entry.isDirectory()), links: named((entry) => entry.isSymbolicLink()) };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Escapes blanks and backslashes as in fstab. */
const tabled = (path: string): string =>
  path.replaceAll(/[\s\\]/g, (mark) => `\\${mark.charCodeAt(0).toString(8).padStart(3, '0')}`);

/** Shows the workspace at `/workspace`, as in containers, if there is no `Sandbox`. Programs still see the whole host. */
export class WorkspaceView implements ProgramView {
  readonly confines = false;
  readonly network = 'host';
  readonly #root: string;
  readonly #script: string;
  /** Whether programs can have their own process namespace. */
  hasOwnProcesses = false;

  constructor(root: string, text: string) {
    this.#root = root;
    this.#script = text;
  }

  hides(): boolean {
    return false;
  }

  /** Nothing to do, since programs run as the node's user. */
  async prepare(): Promise<void> {}

  through(
    { program, args }: ViewedProgram,
    binds: readonly Bind[],
    directory: string,
    { ownProcesses = false }: ViewOptions = {},
  ): ViewedProgram {
    const ordered = binds.toSorted((a, b) => a.path.length - b.path.length);
    const mounts = ordered.flatMap((bind) => [bind.directory, bind.path, bind.readOnly ? 'ro' : 'rw']);
    return {
      program: '/usr/bin/unshare',
      args: [
        ...(ownProcesses && this.hasOwnProcesses ? ['-m', '-p', '-f', '--kill-child'] : ['-m']),
        ...['/bin/sh', '-c', this.#script, 'svc-view', this.#root, directory, ...mounts, '--', program, ...args],
      ],
    };
  }
}

async function viewAt(root: string): Promise<WorkspaceView> {
  const top = await topLevel();
  const table = `${root}.table`;
  const lines = top.directories.map((name) => `${tabled(`/${name}`)} ${tabled(`${root}/${name}`)} none rbind 0 0\n`);
  await writeFile(table, lines.join(''), { mode: 0o600 });
  return new WorkspaceView(root, script(table, top));
}

/** Opens the view and tests it with one program. Call it at start. */
export async function openWorkspaceView(
  workspaces: string,
): Promise<{ readonly view: WorkspaceView } | { readonly view: null; readonly reason: string }> {
  if (process.platform !== 'linux') return { view: null, reason: 'mount namespaces need Linux' };
  const probe = join(workspaces, '.probe');
  try {
    await mkdir(join(workspaces, VIEW), { recursive: true, mode: 0o700 });
    await mkdir(probe, { recursive: true, mode: 0o700 });
    const view = await viewAt(resolve(workspaces, VIEW));
    const look = { program: '/bin/sh', args: ['-c', 'pwd && : >probe && test -e /proc/self'] };
    const bind = { directory: probe, path: WORKSPACE, readOnly: false };
    const { program, args } = view.through(look, [bind], WORKSPACE);
    const { stdout } = await run(program, [...args], { env: { PATH: '/usr/bin:/bin' }, timeout: 10_000 });
    if (stdout !== `${WORKSPACE}\n`) return { view: null, reason: 'the view differs from the requested one' };
    view.hasOwnProcesses = await canOwnProcesses(view, bind);
    return { view };
  } catch (thrown) {
    return { view: null, reason: reasonOf(thrown) };
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** Tests that a command sees only its own processes. */
async function canOwnProcesses(view: WorkspaceView, bind: Bind): Promise<boolean> {
  view.hasOwnProcesses = true;
  const look = { program: '/bin/sh', args: ['-c', 'grep -c . /proc/1/cmdline && ls -d /proc/[0-9]* | grep -c .'] };
  const { program, args } = view.through(look, [bind], WORKSPACE, { ownProcesses: true });
  return run(program, [...args], { env: { PATH: '/usr/bin:/bin' }, timeout: 10_000 }).then(
    ({ stdout }) => Number(stdout.trim().split('\n').at(-1)) < 8,
    () => false,
  );
}

function reasonOf(thrown: unknown): string {
  const stderr = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim().split('\n')[0] : '';
  if (stderr) return stderr;
  return thrown instanceof Error && 'code' in thrown ? `unshare failed (${String(thrown.code)})` : 'unshare failed';
}
