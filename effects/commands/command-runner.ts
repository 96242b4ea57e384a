import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { commandEnvironment } from '../programs/environment.ts';
import { GroupWatch } from '../programs/group-watch.ts';
import { ProgramLimits } from '../programs/input.ts';
import { PRIVATE } from '../programs/leftovers.ts';
import {
  linkMounts,
  type Mount,
  makeWorkdir,
  type OpenMount,
  openMounts,
  type ProcessVolumes,
  volumeGuard,
} from '../programs/mounts.ts';
import { supervise } from '../programs/supervise.ts';
import { beforeStart, makeTemporary } from '../programs/workspace.ts';
import { type Bind, WORKSPACE, type WorkspaceView } from '../programs/workspace-view.ts';
import { PathTraversal } from '../volumes/volume-path.ts';
import type { CommandRequest, CommandResult, CommandRunner } from './api.ts';

export interface CommandRunnerOptions {
  readonly volumes: ProcessVolumes;
  /** Whether a tenant may run commands on this host (design S6). */
  readonly allow: (tenant: string) => boolean;
  /** Directory of programs' workspaces: runs are noted there, and commands without a volume work below it. */
  readonly workspaces: string;
  /** Where the node may: commands find their workspace at `/workspace`. */
  readonly view: WorkspaceView | null;
  /** Memory of all its processes, their number, open files … ; without it the defaults of programs. */
  readonly limits?: Partial<Omit<ProgramLimits, 'timeout_ms' | 'output_bytes'>>;
  /** Between TERM and KILL. */
  readonly killGraceMs?: number;
}

const KILL_GRACE_MS = 2_000;
const SMALLEST_FILE_BYTES = 512;

/** The one way shell commands are run on this host. */
export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const watch = new GroupWatch();
  return {
    async run(request, signal) {
      if (!options.allow(request.tenant))
        throw new SvcError('forbidden', 'this tenant may not run commands on the host');
      checkWorkdir(request.workdir);
      signal.throwIfAborted();
      await using workspace = await beforeStart(openWorkspace(options, request));
      return await runIn(workspace, options, { request, watch, signal });
    },
  };
}

/** Absolute ones are at or under the workspace, and none leaves it. */
function checkWorkdir(workdir: string): void {
  const outside = workdir.startsWith('/') && workdir !== WORKSPACE && !workdir.startsWith(`${WORKSPACE}/`);
  if (!outside && !workdir.split('/').includes('..')) return;
  throw new SvcError('invalid_argument', 'workdir: expected a path at or under /workspace', { field: 'workdir' });
}

interface Workspace extends AsyncDisposable {
  readonly directory: string;
  /** Null: no volume, so nothing measures it. */
  readonly volumeId: string | null;
  readonly sizeLimitBytes: number | null;
}

async function openWorkspace(
  { volumes, workspaces }: CommandRunnerOptions,
  request: CommandRequest,
): Promise<Workspace> {
  const { tenant, workspace } = request;
  if (workspace !== null) {
    const { volume_id: volumeId, implicit: create } = workspace;
    const release = volumes.hold(tenant, volumeId);
    try {
      const opened = await volumes.open(tenant, volumeId, { create });
      return { ...opened, volumeId, [Symbol.asyncDispose]: async () => release() };
    } catch (thrown) {
      release();
      throw thrown;
    }
  }
  const directory = join(workspaces, PRIVATE, randomUUID());
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  return { directory, volumeId: null, sizeLimitBytes: null, [Symbol.asyncDispose]: remove };
}

async function runIn(
  workspace: Workspace,
  options: CommandRunnerOptions,
  call: { readonly request: CommandRequest; readonly watch: GroupWatch; readonly signal: AbortSignal },
): Promise<CommandResult> {
  const { volumes, view, workspaces, killGraceMs = KILL_GRACE_MS } = options;
  const { request, watch, signal } = call;
  const { tenant, command } = request;
  const { directory } = workspace;
  const mounts = await openMounts(volumes, tenant, inner(request));
  await beforeStart(makeTemporary(directory));
  if (view === null) await linkMounts(directory, mounts);
  const workdir = await workdirOf(directory, mounts, request.workdir);
  const shell = { program: '/bin/sh', args: ['-c', command] };
  const own: Bind = { directory, path: WORKSPACE, readOnly: false };
  const run = randomUUID();
  const volumeIds = [workspace.volumeId, ...mounts.map(({ volumeId }) => volumeId)].filter((id) => id !== null);
  return supervise(
    {
      ...(view === null ? shell : view.through(shell, [own, ...mounts], workdir.viewed)),
      directory: view === null ? workdir.host : directory,
      environment: commandEnvironment({ ...request.env, ...about(request) }, { workspace: directory, run }),
      limits: limitsOf(options, request, [workspace, ...mounts]),
    },
    {
      ...{ workspaces, run, watch, killGraceMs, stop: signal },
      guard: volumeGuard(volumes, tenant, volumeIds),
    },
  );
}

/** The workspace is given by itself. */
function inner({ mounts = [], execution_id }: CommandRequest): Mount[] {
  if (mounts.every(({ mount_path }) => mount_path.replace(/\/+$/, '') !== WORKSPACE)) {
    return mounts.map((mount) => ({ ...mount, create: mount.volume_id === execution_id }));
  }
  throw new SvcError('invalid_argument', 'mounts: expected paths below /workspace', { field: 'mounts' });
}

async function workdirOf(directory: string, mounts: readonly OpenMount[], workdir: string) {
  const path = workdir.startsWith('/') ? workdir : `${WORKSPACE}/${workdir}`;
  try {
    return await makeWorkdir(directory, mounts, path);
  } catch (thrown) {
    if (thrown instanceof PathTraversal) {
      throw new SvcError('invalid_argument', 'workdir: a symbolic link leads out of the workspace', {
        field: 'workdir',
      });
    }
    if (thrown instanceof SvcError) throw thrown;
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown';
    const text = `workdir: ${workdir} cannot be made a directory of the workspace (${code})`;
    throw new SvcError('failed_precondition', text, { field: 'workdir', cause: thrown });
  }
}

const about = ({ execution_id, state_name }: CommandRequest): Record<string, string> => ({
  ...(execution_id === undefined ? {} : { SVC_EXECUTION_ID: execution_id }),
  ...(state_name === undefined ? {} : { SVC_STATE: state_name }),
});

/** No single file can be larger than a volume may be: the system itself ends whoever tries. */
function limitsOf(
  options: CommandRunnerOptions,
  request: CommandRequest,
  volumes: readonly Pick<Workspace, 'sizeLimitBytes'>[],
): ProgramLimits {
  const bytes = volumes.map(({ sizeLimitBytes }) => sizeLimitBytes).filter((limit) => limit !== null);
  return ProgramLimits.parse({
    ...(bytes.length < volumes.length ? {} : { file_bytes: Math.max(SMALLEST_FILE_BYTES, ...bytes) }),
    ...options.limits,
    timeout_ms: request.timeout_ms,
  });
}
