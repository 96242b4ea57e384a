import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ProgramRules } from '../../manifests/tool/contract.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Secrets } from '../../security/api.ts';
import { unfailed } from '../../usecases/ports/commands.ts';
import { ProgressFlow } from './captured-output.ts';
import { programEnvironment } from './environment.ts';
import { type GatewayListener, openGatewayRelay } from './gateway-relay.ts';
import { GroupWatch } from './group-watch.ts';
import { ProgramInput } from './input.ts';
import { findExecutable, type LaunchedProgram } from './launch.ts';
import { type Guard, linkMounts, makeMountPoints, openMounts, type ProcessVolumes, volumeGuard } from './mounts.ts';
import { maySee } from './open-sandbox.ts';
import { supervise } from './supervise.ts';
import {
  type Bind,
  confined,
  type LateView,
  type ProgramView,
  type SharedFile,
  type ViewedProgram,
  type ViewOptions,
  WORKSPACE,
} from './view.ts';
import { beforeStart, createWorkspace, makeTemporary } from './workspace.ts';

export interface ProgramEffectOptions {
  /** Directory of all workspaces: `<workspaces>/<tenant>/<execution id>`. */
  readonly workspaces: string;
  /** Whether a tenant may run programs on this host (S6). */
  readonly allow: (tenant: string) => boolean;
  readonly secrets: Secrets;
  /** Variables that the node sets: how the program reaches it, with the capability token of its execution (S5). */
  readonly nodeVariables?: (execution: {
    readonly tenant: string;
    readonly executionId: string;
    readonly lastsMs: number;
    /** True: it reaches the internal listener through its own loopback, whatever `orchestrator_url` is. */
    readonly relayed: boolean;
  }) => Promise<{
    readonly variables: Readonly<Record<string, string>>;
    readonly secrets: readonly string[];
    readonly listener: GatewayListener | null;
  }>;
  /** Base of relative program paths. Default: the node's working directory. */
  readonly baseDirectory?: string;
  /** Time between TERM and KILL. */
  readonly killGraceMs?: number;
  /** Volumes of workflows; without it programs with mounts are refused. */
  readonly volumes?: ProcessVolumes;
  /** Sandbox or view; null or absent: none, so no `/workspace` and no read-only volumes. */
  readonly view?: LateView;
}

const KILL_GRACE_MS = 2_000;

/**
 * `program.run` (isolation `process`): runs a program on this host in its own process group, with limits, a workspace and
 * without the node's environment. Any exit code is a result; stdout comes as progress `{text}`. Throws `forbidden` for
 * tenants without host commands, `program_failed` if it cannot start.
 */
export function createProgramEffect(options: ProgramEffectOptions): EffectHandler<typeof ProgramInput> {
  const watch = new GroupWatch();
  return defineEffect({
    kind: 'program.run',
    input: ProgramInput,
    lasting: true,
    run: (input, context) => runProgram(options, watch, input, context),
  });
}

async function runProgram(
  options: ProgramEffectOptions,
  watch: GroupWatch,
  input: ProgramInput,
  context: EffectContext,
): Promise<Json> {
  const { workspaces, secrets, baseDirectory = process.cwd(), killGraceMs = KILL_GRACE_MS } = options;
  const { tenant, signal } = context;
  if (!options.allow(tenant)) throw new SvcError('forbidden', 'this tenant may not run programs on the host');
  const program = await findExecutable(baseDirectory, input.path);
  const view = (await options.view) ?? null;
  const { network, readOnly } = confined(view, input.rules ?? CLOSED);
  const run = randomUUID();
  const { execution_id: executionId, limits } = input;
  const relayed = view?.confines === true && network === 'none';
  const own = await options.nodeVariables?.({ tenant, executionId, lastsMs: limits.timeout_ms, relayed });
  const listener = relayed ? (own?.listener ?? null) : null;
  const file = await sharedFile(view, baseDirectory, program);
  const place = await prepare({ ...options, view }, tenant, input, {
    program,
    args: input.args,
    readOnly,
    view: { network, waits: listener !== null, file: file ?? undefined },
  });
  const given = { ...input.env, ...own?.variables };
  const environment = await programEnvironment(given, { tenant, workspace: place.seen, run, secrets });
  signal.throwIfAborted();

  const unwanted = new AbortController();
  const flow = new ProgressFlow(
    (text) => context.progress({ text }),
    () => unwanted.abort(new SvcError('cancelled')),
  );
  using relay = new DisposableStack();
  const openRelay = async (to: GatewayListener, launched: LaunchedProgram): Promise<void> => {
    const close = await openGatewayRelay(launched, to);
    // The program may have ended meanwhile.
    if (relay.disposed) return close();
    relay.defer(close);
    launched.child.stdin?.end('\n');
  };
  const result = await supervise(
    {
      ...place.start,
      directory: place.workspace,
      environment: environment.variables,
      limits,
      stdin: listener === null ? undefined : 'pipe',
    },
    {
      workspaces,
      run,
      watch,
      killGraceMs,
      stop: AbortSignal.any([signal, unwanted.signal]),
      secrets: [...environment.secrets, ...(own?.secrets ?? [])],
      onText: (text) => flow.push(text),
      guard: place.guard,
      whenStarted: listener === null ? undefined : (launched) => openRelay(listener, launched),
    },
  );
  await flow.finish();
  unwanted.signal.throwIfAborted();
  return { ...unfailed(result) };
}

/** Rules for a manifest that sets none. */
const CLOSED: ProgramRules = { network: 'closed', read_only: false };

/**
 * The file that a sandbox shows of a program outside the system's directories, or its whole directory if that is below the base
 * directory, so that a program may have several files. Throws `program_failed` for a file that no program may see.
 */
async function sharedFile(view: ProgramView | null, base: string, program: string): Promise<SharedFile | null> {
  if (view?.confines !== true) return null;
  const real = await realpath(program);
  if (view.hides(real)) throw new SvcError('program_failed', 'the program is in a directory that no program may see');
  const directory = dirname(program);
  const shared = directory.startsWith(`${resolve(base)}/`) && maySee(directory);
  if (!shared) return { source: real, path: program };
  return { source: await realpath(directory), path: directory };
}

interface Prepared {
  /** Path on this host. */
  readonly workspace: string;
  /** Path as the program sees it. */
  readonly seen: string;
  readonly start: ViewedProgram;
  readonly guard?: Guard;
}

/** Prepares the workspace and its volumes, and the command that starts the program there. */
async function prepare(
  { workspaces, volumes, view }: ProgramEffectOptions & { readonly view: ProgramView | null },
  tenant: string,
  { execution_id, mounts = [] }: ProgramInput,
  { view: how, readOnly, ...program }: ViewedProgram & { readonly view: ViewOptions; readonly readOnly: boolean },
): Promise<Prepared> {
  if (mounts.length > 0 && volumes === undefined) {
    throw new SvcError('unsupported_isolation', 'volumes: this node has none', { field: 'volumes' });
  }
  const opened = volumes === undefined ? [] : await openMounts(volumes, tenant, mounts);
  const own = opened.find(({ path }) => path === WORKSPACE)?.directory;
  const workspace = own ?? (await beforeStart(createWorkspace(workspaces, tenant, execution_id)));
  if (own !== undefined) await beforeStart(makeTemporary(own));
  const guard = volumes === undefined || opened.length === 0 ? undefined : volumeGuard(volumes, tenant, opened);
  if (view === null) {
    await linkMounts(workspace, opened);
    return { workspace, seen: workspace, start: program, guard };
  }
  await makeMountPoints(workspace, opened);
  const all: Bind[] =
    own === undefined ? [{ directory: workspace, path: WORKSPACE, readOnly: false }, ...opened] : opened;
  const binds = readOnly ? all.map((bind) => ({ ...bind, readOnly })) : all;
  const writable = binds.filter((bind) => !bind.readOnly).map(({ directory }) => directory);
  await beforeStart(view.prepare(writable));
  const seen = view.confines ? WORKSPACE : workspace;
  return { workspace, seen, start: view.through(program, binds, WORKSPACE, how), guard };
}
