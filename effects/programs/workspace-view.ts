import { execFile } from 'node:child_process';
import type { Dirent } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../runtime/clock.ts';
import { type Bind, type ProgramView, type ViewedProgram, type ViewOptions, WORKSPACE } from './view.ts';
import { removeWorkspace } from './workspace.ts';

const run = promisify(execFile);

/** Below the workspaces; no tenant's name starts with a dot. */
const VIEW = '.view';

/**
 * Runs in a mount namespace of its own, where nothing it mounts is seen by anybody else. Builds a root at $1 that holds
 * everything of the real one, puts directories in (host directory, path, rw or ro; ended by --), then goes to $2 there
 * and becomes the program, with the PATH it was given. The root is unbindable, so that binding what holds it does not
 * copy it into itself; what is at / was listed at start, so that one `mount` binds all of it. As process 1 of processes
 * of its own it shows only these in /proc, and stays above the program: whatever happens to the program, all of them end,
 * and it says nothing of that ("Terminated") into the program's output.
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

/** What is at /: files there are nobody's business. */
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

/** Blanks and backslashes as the table of mounts writes them. */
const tabled = (path: string): string =>
  path.replaceAll(/[\s\\]/g, (mark) => `\\${mark.charCodeAt(0).toString(8).padStart(3, '0')}`);

/**
 * Lets a program find its workspace at `/workspace`, as containers do. For its convenience where there is no `Sandbox`: it
 * sees all else of the host.
 */
export class WorkspaceView implements ProgramView {
  readonly confines = false;
  readonly network = 'host';
  readonly #root: string;
  readonly #script: string;
  /** Whether programs can have a process table of their own here. */
  hasOwnProcesses = false;

  constructor(root: string, text: string) {
    this.#root = root;
    this.#script = text;
  }

  hides(): boolean {
    return false;
  }

  /** Its programs run as the node's user. */
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

/** Whether this node may give programs a view of their own, found out by doing it once. Call it at start. */
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
    if (stdout !== `${WORKSPACE}\n`) return { view: null, reason: 'the view is not the one asked for' };
    view.hasOwnProcesses = await canOwnProcesses(view, bind);
    return { view };
  } catch (thrown) {
    return { view: null, reason: reasonOf(thrown) };
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** A command that sees process 1 to be its own. */
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
  const said = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim().split('\n')[0] : '';
  if (said) return said;
  return thrown instanceof Error && 'code' in thrown ? `unshare failed (${String(thrown.code)})` : 'unshare failed';
}

export interface WorkspaceSweepOptions {
  readonly workspaces: string;
  /** Whether nothing of the execution runs or will run any more. */
  readonly ended: (tenant: string, executionId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly everyMs?: number;
  readonly warn: (message: string, error: unknown) => void;
}

const EVERY_MS = 60_000;

/**
 * Removes the workspaces of ended executions from time to time, those left by a crash too. Answers how to stop.
 */
export function startWorkspaceSweep(options: WorkspaceSweepOptions): () => void {
  let cancel = (): void => {};
  let stopped = false;
  const arm = (): void => {
    if (stopped) return;
    cancel = options.clock.after(options.everyMs ?? EVERY_MS, () => {
      sweepWorkspaces(options)
        .catch((error: unknown) => options.warn('sweeping workspaces failed', error))
        .finally(arm);
    });
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}

/** One pass; answers how many workspaces were removed. */
export async function sweepWorkspaces({ workspaces, ended }: WorkspaceSweepOptions): Promise<number> {
  let removed = 0;
  for (const tenant of await directoriesOf(workspaces)) {
    for (const executionId of await directoriesOf(`${workspaces}/${tenant}`)) {
      if (!(await ended(tenant, executionId))) continue;
      await removeWorkspace(workspaces, tenant, executionId);
      removed += 1;
    }
  }
  return removed;
}

/** Names of sub-directories; a directory nobody made yet has none. Dotted ones are the effect's own. */
async function directoriesOf(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return [];
    throw thrown;
  }
}
