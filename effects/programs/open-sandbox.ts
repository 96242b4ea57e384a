import { execFile } from 'node:child_process';
import {
  accessSync,
  constants,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
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

type OpenedSandbox = { readonly sandbox: Sandbox } | { readonly sandbox: null; readonly reason: string };

/**
 * Opens the sandbox and tests it with one program. Call it at start: everything before the test is synchronous, so that the
 * program runs while the caller keeps the thread busy. `reason` says what is missing. Throws `invalid_config` for a shared path
 * that does not exist or must not be shared.
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
    const source = realPath(path);
    if (source === null) throw new SvcError('invalid_config', `${PATHS}: ${path} does not exist on this node`);
    paths.push({ source, path, writable });
  }
  const files = resolve(workspaces, FILES);
  const ids = idsOf(settings.user);
  const hidden = settings.hidden.map((path) => realPath(path) ?? resolve(path));
  for (const { source } of paths) {
    if (!hidden.some((one) => isUnder(one, source))) continue;
    throw new SvcError('invalid_config', `${PATHS}: ${source} is in a directory of the node that no command may see`);
  }
  try {
    const filter = writeFiles(files, isRoot ? ids : SANDBOX_IDS);
    const sandbox = new Sandbox({
      bwrap,
      setpriv,
      ids,
      files,
      filter,
      network,
      paths,
      hidden,
      programs: programs === undefined ? null : programsAt(resolve(programs)),
      give: handOver,
    });
    await probe(sandbox, files, isRoot ? ids : null);
    return { sandbox };
  } catch (thrown) {
    return { sandbox: null, reason: reasonOf(thrown) };
  }
}

/** Null if the directory does not exist or the programs' user cannot enter it; its programs are then shared one by one. */
function programsAt(path: string): SharedFile | null {
  const source = realPath(path);
  return source === null || !maySee(source) ? null : { source, path };
}

/** Null for a path that does not exist. */
function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Whether the programs' user can read a directory. Without root that is the node's own user. */
export function maySee(directory: string): boolean {
  const EVERYBODY = 0o005;
  return process.getuid?.() !== 0 || (statSync(directory).mode & EVERYBODY) === EVERYBODY;
}

/** The ids of the setting, unless they are root's. */
function idsOf(user: string | undefined): Owner {
  const ids = ownerOf(user ?? '0');
  return ids.uid > 0 && ids.gid > 0 ? ids : SANDBOX_IDS;
}

/** Writes the files for /etc and the filter of system calls. Returns the path of the filter, or null if there is none for this architecture. */
function writeFiles(directory: string, { uid, gid }: Owner): string | null {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const content = {
    passwd: `root:x:0:0:root:/nonexistent:/bin/false\nsvc:x:${uid}:${gid}:svc:${WORKSPACE}:/bin/sh\n`,
    group: `root:x:0:\nsvc:x:${gid}:\n`,
    hosts: '127.0.0.1 localhost svc\n::1 localhost\n',
  };
  for (const [name, text] of Object.entries(content)) writeFileSync(join(directory, name), text, { mode: 0o644 });
  const filter = seccompFilter();
  if (filter === null) return null;
  writeFileSync(join(directory, 'seccomp'), filter, { mode: 0o600 });
  return join(directory, 'seccomp');
}

/**
 * Runs a program that checks its user, its workspace, its network and its process namespace. On a node that runs as root, `ids`
 * are the program's: its workspace is given to it at once, and another one is given in the way of real runs, which starts
 * `chown`.
 */
async function probe(sandbox: Sandbox, files: string, ids: Owner | null): Promise<void> {
  const directory = mkdtempSync(join(files, 'probe-'));
  const given = mkdtempSync(join(files, 'probe-'));
  try {
    if (ids !== null) lchownSync(directory, ids.uid, ids.gid);
    const look =
      '[ "$(id -u)" = "$0" ] && : > probe && [ "$(grep -c : /proc/net/dev)" = 1 ] && [ $$ -lt 10 ] && echo in';
    const bind = { directory, path: WORKSPACE, readOnly: false };
    const { program, args } = sandbox.through(
      { program: '/bin/sh', args: ['-c', look, String(ids?.uid ?? SANDBOX_IDS.uid)] },
      [bind],
      WORKSPACE,
    );
    const looked = run(program, [...args], { env: { PATH: '/usr/bin:/bin' }, timeout: PROBE_MS });
    const [{ stdout }] = await Promise.all([looked, sandbox.prepare([given])]);
    if (stdout !== 'in\n') throw new Error('the sandbox differs from the requested one');
  } finally {
    for (const made of [directory, given]) await rm(made, { recursive: true, force: true });
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
