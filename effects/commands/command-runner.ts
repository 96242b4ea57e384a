import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { CommandRequest, CommandRunner, Mount } from '../../usecases/ports/commands.ts';
import type { VolumeFiles } from '../../usecases/ports/volumes.ts';
import { commandEnvironment } from '../programs/environment.ts';
import { GroupWatch } from '../programs/group-watch.ts';
import { PRIVATE } from '../programs/leftovers.ts';
import { WORKSPACE } from '../programs/view.ts';
import { beforeStart } from '../programs/workspace.ts';
import { writeStepFiles } from '../volumes/step-files.ts';
import { removeTree } from '../volumes/tree.ts';
import { partsOf } from '../volumes/volume-path.ts';
import { CommandInput } from './input.ts';
import { heldVolume } from './tool-program.ts';
import { type HostParts, runInWorkspace, type Workspace } from './workspace-run.ts';

interface CommandRunnerOptions extends HostParts {
  /** Whether a tenant may run commands on this host (S6). */
  readonly allow: (tenant: string) => boolean;
  /** Writes the files of a step. */
  readonly files?: Pick<VolumeFiles, 'write'>;
}

/** The implementation of `CommandRunner`. */
export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const watch = new GroupWatch();
  return {
    async run(request, signal) {
      if (!options.allow(request.tenant))
        throw new SvcError('forbidden', 'this tenant may not run commands on the host');
      const elsewhere = directoryOutside(request);
      signal.throwIfAborted();
      await using workspace = await beforeStart(openWorkspace(options, request));
      await beforeStart(writeFiles(options, request, workspace));
      const { tenant, timeout_ms, command } = request;
      const absent = randomUUID();
      const result = await runInWorkspace(
        options,
        workspace,
        {
          tenant,
          workdir: elsewhere === null ? request.workdir : WORKSPACE,
          mounts: innerMounts(request),
          limits: { timeout_ms },
          ownProcesses: false,
          network: 'host',
          program: async () => ({
            program: '/bin/sh',
            args: elsewhere === null ? ['-c', command] : ['-c', IN_DIRECTORY, 'sh', elsewhere, command, absent],
          }),
          environment: ({ directory, confined, run }) =>
            commandEnvironment(
              { ...request.env, ...about(request) },
              { workspace: confined ? WORKSPACE : directory, run },
            ),
        },
        { watch, signal },
      );
      if (elsewhere !== null && result.stderr === `${absent}\n`)
        throw new SvcError(
          'failed_precondition',
          `workdir: ${elsewhere} is not a directory that the command can enter`,
          {
            field: 'workdir',
          },
        );
      const { volume } = workspace;
      // The caller keeps it, so that the next command of the run needs no lookup.
      return volume === null || request.workspace?.known !== undefined
        ? result
        : { ...result, workspace: volume.known };
    },
  };
}

/** Runs the command `$2` in the directory `$1`. Writes `$3` to stderr, and nothing else, when it cannot be entered. */
const IN_DIRECTORY = 'cd -- "$1" 2>/dev/null || { echo "$3" >&2; exit 1; }; exec /bin/sh -c "$2"';

/**
 * The directory outside the workspace in which a command without a volume runs; null: in the workspace. The sandbox decides
 * what the command sees of the host there. Throws `invalid_argument`.
 */
function directoryOutside({ workdir, workspace }: CommandRequest): string | null {
  const outside = workdir.startsWith('/') && workdir !== WORKSPACE && !workdir.startsWith(`${WORKSPACE}/`);
  const isClimbing = workdir.split('/').includes('..');
  if (outside && workspace === null && !isClimbing) return workdir;
  if (!outside && !isClimbing) return null;
  const what =
    workspace === null ? 'an absolute path, or one in /workspace, without ..' : 'a path at or under /workspace';
  throw invalidField('workdir', `expected ${what}`);
}

async function openWorkspace(
  { volumes, workspaces }: CommandRunnerOptions,
  { tenant, workspace }: CommandRequest,
): Promise<Workspace & AsyncDisposable> {
  if (workspace !== null) {
    const { volume_id, implicit, known } = workspace;
    return heldVolume(volumes, tenant, volume_id, { create: implicit, known });
  }
  const directory = join(workspaces, PRIVATE, randomUUID());
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const remove = () => removeTree(directory);
  return { directory, volume: null, sizeLimitBytes: null, [Symbol.asyncDispose]: remove };
}

async function writeFiles(
  { files }: CommandRunnerOptions,
  { tenant, files: wanted = [], workspace }: CommandRequest,
  { directory }: Workspace,
): Promise<void> {
  if (workspace !== null) return writeStepFiles(files, { tenant, volumeId: workspace.volume_id }, [...wanted]);
  // The directory is new and empty, so no link leads out of it.
  for (const { path, content } of wanted) {
    const parts = partsOf(`/${path}`);
    const file = join(directory, ...parts);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, content);
  }
}

/** The mounts below the workspace. */
function innerMounts({ mounts = [], execution_id }: CommandRequest): Mount[] {
  if (mounts.every(({ mount_path }) => mount_path.replace(/\/+$/, '') !== WORKSPACE)) {
    return mounts.map((mount) => ({ ...mount, create: mount.volume_id === execution_id }));
  }
  throw invalidField('mounts', 'expected paths below /workspace');
}

const about = ({ execution_id, state_name }: CommandRequest): Record<string, string> => ({
  ...(execution_id === undefined ? {} : { SVC_EXECUTION_ID: execution_id }),
  ...(state_name === undefined ? {} : { SVC_STATE: state_name }),
});

/**
 * `command.run` (mode `once`): the shell command of a System state in the workspace of its workflow execution (W8). Result:
 * exit code, both streams (1 MiB each), duration, and the limit that ended it. Never repeated silently.
 */
export function createCommandEffect(commands: CommandRunner): EffectHandler<typeof CommandInput> {
  return defineEffect({
    kind: 'command.run',
    input: CommandInput,
    lasting: true,
    async run({ mounts, state_name, ...input }, { tenant, signal }) {
      return { ...(await commands.run({ ...input, tenant, mounts, state_name }, signal)) };
    },
  });
}
