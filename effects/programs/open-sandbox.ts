import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { handOver, type Owner, ownerOf } from '../volumes/ownership.ts';
import { isUnder, SANDBOX_IDS, Sandbox, type SharedPath } from './sandbox.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { type SharedFile, WORKSPACE } from './view.ts';

const run = promisify(execFile);

/** Directory below the workspaces; no tenant's name starts with a dot. */
const FILES = '.sandbox';
const PROBE_MS = 10_000;
const PATHS = 'spec.runtime.host_commands.paths';

export interface SandboxSettings {
  /** Directory of workspaces; the sandbox keeps its own files below it. */
  readonly workspaces: string;
  /** Directories that no program may see, such as the node's data directory. */
  readonly hidden: readonly string[];
  /** `uid` or `uid:gid` of programs if the node runs as root (`spec.runtime.containers.user`). */
  readonly user?: string | undefined;
  readonly network?: 'none' | 'host';
  readonly paths?: readonly Omit<SharedPath, 'source'>[];
  /** `spec.runtime.bootstrap_dir`. */
  readonly programs?: string | undefined;
}

export type OpenedSandbox = { readonly sandbox: Sandbox } | { readonly sandbox: null; readonly reason: string };

/**
 * Opens the sandbox and tests it with one program. Call it at start. `reason` says what is missing. Throws `invalid_config`
 * for a shared path that does not exist or must not be shared.
 */
export async function openSandbox(settings: SandboxSettings): Promise<OpenedSandbox> {
  if (process.platform !== 'linux') return { sandbox: null, reason: 'namespaces need Linux' };
  const bwrap = findProgram('bwrap');
  if (bwrap === null) return { sandbox: null, reason: 'bwrap is not installed (package bubblewrap)' };
  const isRoot = process.getuid?.() === 0;
  const setpriv = isRoot ? findProgram('setpriv') : null;
  if (isRoot && setpriv === null) {
    return {
      sandbox: null,
      reason: 'setpriv is not installed (package util-linux), and a node that runs as root needs it',
    };
  }
  const { workspaces, network = 'none', programs } = settings;
  const paths: SharedPath[] = [];
  for (const { path, writable } of settings.paths ?? []) {
    const source = await realpath(path).catch(() => null);
    if (source === null) throw new SvcError('invalid_config', `${PATHS}: ${path} does not exist on this node`);
    paths.push({ source, path, writable });
  }
  const files = resolve(workspaces, FILES);
  const ids = idsOf(settings.user);
  const hidden = await Promise.all(settings.hidden.map((path) => realpath(path).catch(() => resolve(path))));
  for (const { source } of paths) {
    if (!hidden.some((one) => isUnder(one, source))) continue;
    throw new SvcError('invalid_config', `${PATHS}: ${source} is in a directory of the node that no command may see`);
  }
  try {
    const filter = await writeFiles(files, isRoot ? ids : SANDBOX_IDS);
    const sandbox = new Sandbox({
      bwrap,
      setpriv,
      ids,
      files,
      filter,
      network,
      paths,
      hidden,
      programs: programs === undefined ? null : await programsAt(resolve(programs)),
      give: handOver,
    });
    await probe(sandbox, files, isRoot ? ids.uid : SANDBOX_IDS.uid);
    return { sandbox };
  } catch (thrown) {
    return { sandbox: null, reason: reasonOf(thrown) };
  }
}

/** Null if the directory does not exist or the programs' user cannot enter it; its programs are then shared one by one. */
async function programsAt(path: string): Promise<SharedFile | null> {
  const source = await realpath(path).catch(() => null);
  return source === null || !(await maySee(source)) ? null : { source, path };
}

/** Whether the programs' user can read a directory. Without root that is the node's own user. */
export async function maySee(directory: string): Promise<boolean> {
  const EVERYBODY = 0o005;
  return process.getuid?.() !== 0 || ((await stat(directory)).mode & EVERYBODY) === EVERYBODY;
}

/** The ids of the setting, unless they are root's. */
function idsOf(user: string | undefined): Owner {
  const ids = ownerOf(user ?? '0');
  return ids.uid > 0 && ids.gid > 0 ? ids : SANDBOX_IDS;
}

/** Writes the files for /etc and the filter of system calls. Returns the path of the filter, or null if there is none for this architecture. */
async function writeFiles(directory: string, { uid, gid }: Owner): Promise<string | null> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const content = {
    passwd: `root:x:0:0:root:/nonexistent:/bin/false\nsvc:x:${uid}:${gid}:svc:${WORKSPACE}:/bin/sh\n`,
    group: `root:x:0:\nsvc:x:${gid}:\n`,
    hosts: '127.0.0.1 localhost svc\n::1 localhost\n',
  };
  for (const [name, text] of Object.entries(content)) await writeFile(join(directory, name), text, { mode: 0o644 });
  const filter = seccompFilter();
  if (filter === null) return null;
  await writeFile(join(directory, 'seccomp'), filter, { mode: 0o600 });
  return join(directory, 'seccomp');
}

/** Runs a program that checks its user, its workspace, its network and its process namespace. */
async function probe(sandbox: Sandbox, files: string, uid: number): Promise<void> {
  const directory = await mkdtemp(join(files, 'probe-'));
  try {
    await sandbox.prepare([directory]);
    const look =
      '[ "$(id -u)" = "$0" ] && : > probe && [ "$(grep -c : /proc/net/dev)" = 1 ] && [ $$ -lt 10 ] && echo in';
    const bind = { directory, path: WORKSPACE, readOnly: false };
    const { program, args } = sandbox.through(
      { program: '/bin/sh', args: ['-c', look, String(uid)] },
      [bind],
      WORKSPACE,
    );
    const { stdout } = await run(program, [...args], { env: { PATH: '/usr/bin:/bin' }, timeout: PROBE_MS });
    if (stdout !== 'in\n') throw new Error('the sandbox differs from the requested one');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const SYSTEM_PATHS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Searches only the system's directories, which the sandbox shows. */
function findProgram(name: string): string | null {
  for (const directory of [...SYSTEM_PATHS, '/usr/local/bin']) {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return join(directory, name);
    } catch {
      // Continues with the next directory.
    }
  }
  return null;
}

function reasonOf(thrown: unknown): string {
  const stderr = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim().split('\n')[0] : '';
  if (stderr) return stderr;
  return thrown instanceof Error ? (thrown.message.split('\n')[0] ?? 'bwrap failed') : 'bwrap failed';
}
