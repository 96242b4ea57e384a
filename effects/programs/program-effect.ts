import { randomUUID } from 'node:crypto';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Secrets } from '../../security/api.ts';
import { programEnvironment } from './environment.ts';
import { findExecutable } from './executable.ts';
import { GroupWatch } from './group-watch.ts';
import { ProgramInput } from './input.ts';
import { linkMounts, openMounts, type ProcessVolumes, volumeGuard } from './mounts.ts';
import { ProgressFlow } from './progress-flow.ts';
import { type Guard, supervise } from './supervise.ts';
import { beforeStart, createWorkspace, makeTemporary } from './workspace.ts';
import { type ViewedProgram, WORKSPACE, type WorkspaceView } from './workspace-view.ts';

export interface ProgramEffectOptions {
  /** Directory of all workspaces: `<workspaces>/<tenant>/<execution id>`. */
  readonly workspaces: string;
  /** Whether a tenant may run programs on this host (design S6). */
  readonly allow: (tenant: string) => boolean;
  readonly secrets: Secrets;
  /** What only the node knows: how the program reaches it, with the capability token of its execution (design S5). */
  readonly nodeVariables?: (execution: {
    readonly tenant: string;
    readonly executionId: string;
    readonly lastsMs: number;
  }) => Promise<{ readonly variables: Readonly<Record<string, string>>; readonly secrets: readonly string[] }>;
  /** Where relative program paths start. Default: the node's working directory. */
  readonly baseDirectory?: string;
  /** Between TERM and KILL. */
  readonly killGraceMs?: number;
  /** For workflow volumes; without it a program that has mounts is refused. */
  readonly volumes?: ProcessVolumes;
  /** Where the node may: the workspace is at `/workspace` too, and read-only volumes are. */
  readonly view?: WorkspaceView | null;
}

const KILL_GRACE_MS = 2_000;

/**
 * `program.run`: a program on this host in its own process group, with limits, a workspace and nothing of the node's
 * environment (isolation `process`). Its end is a result whatever its exit code; stdout comes as progress `{text}`
 * while it runs. Throws `forbidden` for tenants without host commands, `program_failed` when it cannot start.
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
  const place = await prepare(options, tenant, input, { program, args: input.args });
  const run = randomUUID();
  const { execution_id: executionId, limits } = input;
  const own = await options.nodeVariables?.({ tenant, executionId, lastsMs: limits.timeout_ms });
  const given = { ...input.env, ...own?.variables };
  const environment = await programEnvironment(given, { tenant, workspace: place.workspace, run, secrets });
  signal.throwIfAborted();

  const unwanted = new AbortController();
  const flow = new ProgressFlow(
    (text) => context.progress({ text }),
    () => unwanted.abort(new SvcError('cancelled')),
  );
  const result = await supervise(
    { ...place.start, directory: place.workspace, environment: environment.variables, limits },
    {
      ...{ workspaces, run, watch, killGraceMs, stop: AbortSignal.any([signal, unwanted.signal]) },
      ...{ secrets: [...environment.secrets, ...(own?.secrets ?? [])], onText: (text) => flow.push(text) },
      ...(place.guard === undefined ? {} : { guard: place.guard }),
    },
  );
  await flow.finish();
  unwanted.signal.throwIfAborted();
  return { ...result };
}

interface Prepared {
  readonly workspace: string;
  readonly start: ViewedProgram;
  readonly guard?: Guard;
}

/** The workspace with the volumes in their places, and how the program is started in it. */
async function prepare(
  { workspaces, volumes, view }: ProgramEffectOptions,
  tenant: string,
  { execution_id, mounts = [] }: ProgramInput,
  program: ViewedProgram,
): Promise<Prepared> {
  if (mounts.length > 0 && volumes === undefined) {
    throw new SvcError('unsupported_isolation', 'volumes: this node has none', { field: 'volumes' });
  }
  const opened = volumes === undefined ? [] : await openMounts(volumes, tenant, mounts);
  const own = opened.find(({ path }) => path === WORKSPACE)?.directory;
  const workspace = own ?? (await beforeStart(createWorkspace(workspaces, tenant, execution_id)));
  if (own !== undefined) await beforeStart(makeTemporary(own));
  const guard = volumes === undefined || opened.length === 0 ? {} : { guard: volumeGuard(volumes, tenant, opened) };
  if (view === undefined || view === null) {
    await linkMounts(workspace, opened);
    return { workspace, start: program, ...guard };
  }
  const bound = own === undefined ? [{ directory: workspace, path: WORKSPACE, readOnly: false }, ...opened] : opened;
  return { workspace, start: view.through(program, bound, WORKSPACE), ...guard };
}
