import { randomUUID } from 'node:crypto';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Secrets } from '../../security/api.ts';
import { programEnvironment } from './environment.ts';
import { findExecutable } from './executable.ts';
import { GroupWatch } from './group-watch.ts';
import { ProgramInput } from './input.ts';
import { launch } from './launch.ts';
import { endRun, recordRun } from './leftovers.ts';
import { followProgram } from './program-run.ts';
import { ProgressFlow } from './progress-flow.ts';
import { beforeStart, createWorkspace } from './workspace.ts';

export interface ProgramEffectOptions {
  /** Directory of all workspaces: `<workspaces>/<tenant>/<execution id>`. */
  readonly workspaces: string;
  /** Whether a tenant may run programs on this host (design S6). */
  readonly allow: (tenant: string) => boolean;
  readonly secrets: Secrets;
  /** Where relative program paths start. Default: the node's working directory. */
  readonly baseDirectory?: string;
  /** Between TERM and KILL. */
  readonly killGraceMs?: number;
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
  const directory = await beforeStart(createWorkspace(workspaces, tenant, input.execution_id));
  const run = randomUUID();
  const environment = await programEnvironment(input.env, { tenant, workspace: directory, run, secrets });
  signal.throwIfAborted();

  const unwanted = new AbortController();
  const flow = new ProgressFlow(
    (text) => context.progress({ text }),
    () => unwanted.abort(new SvcError('cancelled')),
  );
  const stop = AbortSignal.any([signal, unwanted.signal]);
  try {
    await beforeStart(recordRun(workspaces, run));
    const { args, limits } = input;
    const launched = await launch({ program, args, directory, environment: environment.variables, limits });
    const following = followProgram(launched, {
      ...{ limits, watch, killGraceMs, stop },
      secrets: environment.secrets,
      onText: (text) => flow.push(text),
    });
    await recordRun(workspaces, run, launched.group).catch((cause: unknown) =>
      unwanted.abort(new SvcError('program_failed', 'the run of the program could not be recorded', { cause })),
    );
    const result = await following;
    await flow.finish();
    unwanted.signal.throwIfAborted();
    return { ...result };
  } finally {
    await endRun(workspaces, run);
  }
}
