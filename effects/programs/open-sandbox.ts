import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { handOver, type Owner, ownerOf } from '../volumes/volume-path.ts';
import { isUnder, SANDBOX_IDS, Sandbox, type SharedPath } from './sandbox.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { type SharedFile, WORKSPACE } from './view.ts';

const run = promisify(execFile);

/** Below the workspaces; no tenant's name starts with a dot. */
const FILES = '.sandbox';
const PROBE_MS = 10_000;
const PATHS = 'spec.runtime.host_commands.paths';

export interface SandboxSettings {
  /** Directory of programs' workspaces: what the sandbox needs of files is kept below it. */
  readonly workspaces: string;
  /** The node's data directory, and others that no program may see. */
  readonly hidden: readonly string[];
  /** `uid` or `uid:gid` that programs of a node that runs as root have (`spec.runtime.containers.user`). */
  readonly user?: string | undefined;
  readonly network?: 'none' | 'host';
  readonly paths?: readonly Omit<SharedPath, 'source'>[];
  /** `spec.runtime.bootstrap_dir`. */
  readonly programs?: string | undefined;
}

export type OpenedSandbox = { readonly sandbox: Sandbox } | { readonly sandbox: null; readonly reason: string };

/**
 * Whether this node may put programs into a sandbox, found out by doing it once. Call it at start. `reason` says what is
 * missing, for people. Throws `invalid_config` for a shared path that is not there or must not be shared.
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
      reason: 'setpriv is not installed (package util-linux), which a node that runs as root needs',
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
      ...{ bwrap, setpriv, ids, files, filter, network, paths },
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

/**
 * Null while it is not there, and where the programs' user cannot enter it, which a node that runs as root has another one for:
 * a program of it is then shown by itself.
 */
async function programsAt(path: string): Promise<SharedFile | null> {
  const source = await realpath(path).catch(() => null);
  return source === null || !(await maySee(source)) ? null : { source, path };
}

/** Whether a directory's permissions let everybody in. Of a node that is an ordinary user its own will do. */
export async function maySee(directory: string): Promise<boolean> {
  const EVERYBODY = 0o005;
  return process.getuid?.() !== 0 || ((await stat(directory)).mode & EVERYBODY) === EVERYBODY;
}

/** Of a setting: an id of root is none, since the point is not to be root. */
function idsOf(user: string | undefined): Owner {
  const ids = ownerOf(user ?? '0');
  return ids.uid > 0 && ids.gid > 0 ? ids : SANDBOX_IDS;
}

/** What /etc holds inside, and the filter of system calls. Answers where that is; null where there is none for this machine. */
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

/** A program that is who it should be, works in its workspace, has a network of its own and is process 2 or so of its own. */
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
    if (stdout !== 'in\n') throw new Error('the sandbox is not the one asked for');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const SYSTEM_PATHS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** In the system's directories only: what is found in others may be somebody's, and is not seen inside. */
function findProgram(name: string): string | null {
  for (const directory of [...SYSTEM_PATHS, '/usr/local/bin']) {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return join(directory, name);
    } catch {
      // Looked for in the next directory.
    }
  }
  return null;
}

function reasonOf(thrown: unknown): string {
  const said = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim().split('\n')[0] : '';
  if (said) return said;
  return thrown instanceof Error ? (thrown.message.split('\n')[0] ?? 'bwrap failed') : 'bwrap failed';
}
