import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { Mount, ProgramResult } from '../../usecases/ports/commands.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';
import type { GroupWatch } from '../programs/group-watch.ts';
import { ProgramLimits } from '../programs/input.ts';
import {
  type GuardedVolume,
  linkMounts,
  makeMountPoints,
  makeWorkdir,
  type OpenMount,
  openMounts,
  type ProcessVolumes,
  volumeGuard,
} from '../programs/mounts.ts';
import { supervise } from '../programs/supervise.ts';
import { type Bind, type LateView, type ProgramView, type ViewedProgram, WORKSPACE } from '../programs/view.ts';
import { beforeStart, makeTemporary } from '../programs/workspace.ts';

/** The ports and settings for commands on this host. */
export interface HostParts {
  readonly volumes: ProcessVolumes;
  /** Directory of workspaces, for records of runs and for commands without a volume. */
  readonly workspaces: string;
  /** Sandbox or view, with the workspace at `/workspace`; null: none. */
  readonly view: LateView;
  /** Memory, processes, open files, …; default: those of programs. */
  readonly limits?: Partial<Omit<ProgramLimits, 'timeout_ms' | 'output_bytes' | 'total_output_bytes'>>;
  /** Time between TERM and KILL. */
  readonly killGraceMs?: number;
}

/** The workspace of a command. */
export interface Workspace {
  readonly directory: string;
  /** Null: no volume, so no quota. */
  readonly volume: GuardedVolume | null;
  readonly sizeLimitBytes: number | null;
  readonly readOnly?: boolean;
}

/** The opened workspace of a command. */
export interface OpenWorkspace {
  /** Host directory of the workspace. */
  readonly directory: string;
  readonly mounts: readonly OpenMount[];
  /** True: the command sees `/workspace`. */
  readonly viewed: boolean;
  /** True: the command sees no paths of the host. */
  readonly confined: boolean;
  readonly run: string;
}

interface WorkspaceRun {
  readonly tenant: string;
  /** Mounts below the workspace. */
  readonly mounts: readonly Mount[];
  readonly workdir: string;
  readonly limits: Pick<ProgramLimits, 'timeout_ms'> & Partial<ProgramLimits>;
  /** The command sees only its own processes, and all of them end with it, if the node can do that. */
  readonly ownProcesses: boolean;
  /** Network by the rules for the command; the node's settings may restrict it further. */
  readonly network: 'none' | 'host';
  /** Standard input; absent: none. */
  readonly input?: string | undefined;
  program(place: OpenWorkspace): Promise<ViewedProgram>;
  environment(place: OpenWorkspace): Readonly<Record<string, string>>;
}

const KILL_GRACE_MS = 2_000;
const SMALLEST_FILE_BYTES = 512;

/** Runs one program in a workspace with its volumes, to the end of its last process. */
export async function runInWorkspace(
  parts: HostParts,
  workspace: Workspace,
  asked: WorkspaceRun,
  { watch, signal }: { readonly watch: GroupWatch; readonly signal: AbortSignal },
): Promise<ProgramResult> {
  const { volumes, workspaces, killGraceMs = KILL_GRACE_MS } = parts;
  const view = await parts.view;
  const { tenant, ownProcesses, network } = asked;
  const { directory, readOnly = false } = workspace;
  if (readOnly && view === null) throw readOnlyWorkspace();
  const mounts = await openMounts(volumes, tenant, asked.mounts);
  if (!readOnly) await beforeStart(makeTemporary(directory));
  if (view === null) await linkMounts(directory, mounts);
  else await makeMountPoints(directory, mounts);
  const workdir = await workdirOf(directory, mounts, asked.workdir);
  const place = { directory, mounts, viewed: view !== null, confined: view?.confines === true, run: randomUUID() };
  const program = await asked.program(place);
  const own: Bind = { directory, path: WORKSPACE, readOnly };
  await beforeStart(prepareView(view, [own, ...mounts]));
  const used = [workspace.volume, ...mounts].filter((volume) => volume !== null);
  return supervise(
    {
      ...(view === null
        ? program
        : view.through(program, [own, ...mounts], workdir.viewed, { ownProcesses, network: allowed(view, network) })),
      directory: view === null ? workdir.host : directory,
      environment: asked.environment(place),
      limits: limitsOf(parts, asked, [workspace, ...mounts]),
      stdin: asked.input === undefined ? undefined : 'pipe',
    },
    {
      workspaces,
      run: place.run,
      watch,
      killGraceMs,
      stop: signal,
      guard: volumeGuard(volumes, tenant, used),
      whenStarted: async ({ child }) => feed(child.stdin, asked.input),
    },
  );
}

function feed(stdin: Writable | null, input: string | undefined): void {
  if (stdin === null || input === undefined) return;
  // A program that ends without reading all of it breaks the pipe, which is its own choice.
  stdin.on('error', () => stdin.destroy());
  stdin.end(input);
}

const allowed = (view: ProgramView, network: 'none' | 'host'): 'none' | 'host' =>
  network === 'host' ? view.network : 'none';

const prepareView = async (view: ProgramView | null, binds: readonly Bind[]): Promise<void> =>
  view?.prepare(binds.filter(({ readOnly }) => !readOnly).map(({ directory }) => directory));

async function workdirOf(directory: string, mounts: readonly OpenMount[], workdir: string) {
  const path = workdir.startsWith('/') ? workdir : `${WORKSPACE}/${workdir}`;
  try {
    return await makeWorkdir(directory, mounts, path);
  } catch (thrown) {
    if (thrown instanceof PathTraversal) {
      throw invalidField('workdir', 'a symbolic link leads out of the workspace');
    }
    if (thrown instanceof SvcError) throw thrown;
    const code = systemCode(thrown);
    const text = `workdir: ${workdir} cannot be made a directory of the workspace (${code})`;
    throw new SvcError('failed_precondition', text, { field: 'workdir', cause: thrown });
  }
}

/** Limits the size of a single file to the largest limit of the volumes, which the system enforces. */
function limitsOf(
  parts: HostParts,
  { limits }: WorkspaceRun,
  volumes: readonly Pick<Workspace, 'sizeLimitBytes'>[],
): ProgramLimits {
  const bytes = volumes.map(({ sizeLimitBytes }) => sizeLimitBytes).filter((limit) => limit !== null);
  return ProgramLimits.parse({
    ...(bytes.length < volumes.length ? {} : { file_bytes: Math.max(SMALLEST_FILE_BYTES, ...bytes) }),
    ...parts.limits,
    ...limits,
  });
}

const readOnlyWorkspace = (): SvcError =>
  new SvcError('unsupported_isolation', 'volumes: /workspace is read-only, which this node cannot enforce', {
    field: 'volumes',
  });
