import { z } from 'zod';
import type { ToolRun } from '../../manifests/tool/call.ts';
import {
  type CommandFailure,
  commandNotFound,
  commandTooLong,
  commandTooMuch,
  outputUntilThen,
  programRules,
} from '../../manifests/tool/contract.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemText } from '../../usecases/fields.ts';
import type { ToolCommandResult, ToolCommands } from '../../usecases/ports/commands.ts';
import { defineContract, PATH_CHARS, toolArguments } from '../contract/arguments.ts';
import { absolutePath, WORKSPACE } from '../files/places.ts';
import { defineTool, type Tool, ToolFailure } from '../tool.ts';

/** Default ceilings of a command (W44). */
const DEFAULTS = { timeout_secs: 60, max_output_bytes: 512 * 1024, env_denylist: [], max_concurrent: 1 };

/** The handler of cmd.run. Every exit code of a command is a result. */
export function commandTools(commands: ToolCommands): Tool[] {
  return [
    defineTool(cmdRun, async ({ command, args }, { run, tenant, signal }) => {
      const { execution_id, container_id, isolation } = run.subject;
      if (execution_id === null) throw ToolFailure.denied('ToolNotAllowed', 'Commands belong to an execution.');
      // An agent of isolation docker must never run a command on the host.
      if (isolation === 'docker' && container_id === undefined) {
        throw new ToolFailure('ToolNotAvailable', 'the container of the agent does not run');
      }
      const ceiling = run.limits.command ?? DEFAULTS;
      const request = {
        tenant,
        execution_id,
        command,
        args,
        mounts: mountsOf(execution_id, run),
        timeout_ms: Math.round(ceiling.timeout_secs * 1_000),
        max_output_bytes: ceiling.max_output_bytes,
        max_concurrent: ceiling.max_concurrent,
        env_denylist: ceiling.env_denylist,
        rules: programRules(run.scope),
        container_id,
      };
      const result = await withCommand(command, signal, () => commands.run(request, signal));
      checkCeilings(result, ceiling);
      const { stdout, stderr, exit_code } = result;
      const structured = { stdout, stderr, exit_code };
      return { text: JSON.stringify(structured), structured };
    }),
  ];
}

function checkCeilings(
  { stopped_by, stdout, stderr }: ToolCommandResult,
  ceiling: typeof DEFAULTS | NonNullable<ToolRun['limits']['command']>,
): void {
  const streams = { stdout, stderr };
  const ended = outputUntilThen(streams);
  switch (stopped_by) {
    case undefined:
      return;
    case 'timeout':
      throw failureOf(commandTooLong(ceiling.timeout_secs, streams));
    case 'output':
      throw failureOf(commandTooMuch(ceiling.max_output_bytes, streams));
    case 'memory':
      throw new ToolFailure('MemoryLimitExceeded', `the command used too much memory and was ended. ${ended}`);
    case 'processes':
      throw new ToolFailure('ProcessLimitExceeded', `the command started too many processes and was ended. ${ended}`);
  }
}

const failureOf = ({ code, message }: CommandFailure, cause?: unknown): ToolFailure =>
  new ToolFailure(code, message, 'recoverable', cause);

/** The mounts of the execution, including its workspace. */
function mountsOf(executionId: string, { subject }: ToolRun): ToolRun['subject']['mounts'] {
  if (subject.mounts.some(({ mount_path }) => absolutePath(mount_path) === WORKSPACE)) return subject.mounts;
  const own = { volume_id: executionId, mount_path: WORKSPACE, read_only: false, create: true };
  return [own, ...subject.mounts];
}

async function withCommand<T>(command: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || signal.aborted) throw thrown;
    switch (thrown.code) {
      case 'forbidden':
        throw ToolFailure.denied('PERMISSION_DENIED', `${thrown.message}.`);
      case 'not_found':
        throw failureOf(commandNotFound(command), thrown);
      case 'quota_exceeded':
        throw new ToolFailure('QuotaExceeded', `${thrown.message}: delete something first`, 'recoverable', thrown);
      case 'unsupported_isolation':
        throw ToolFailure.denied('ToolNotAvailable', `${thrown.message}.`);
      case 'failed_precondition':
        throw new ToolFailure('ConcurrentExecLimitExceeded', thrown.message, 'recoverable', thrown);
      case 'invalid_argument':
        throw new ToolFailure('InvalidArguments', thrown.message, 'recoverable', thrown);
      default:
        throw thrown;
    }
  }
}

/** Linux limit for one argument. */
const ARGUMENT_CHARS = 128 * 1024 - 1;

export const cmdRun = defineContract({
  name: 'cmd.run',
  description:
    'Runs one command in the workspace, without a shell: no pipes, no redirects, no variables. Answers its output and exit code.',
  input: toolArguments({
    command: systemText(PATH_CHARS).regex(/\S/, 'expected a command, not blanks').describe('The program to run.'),
    args: z.array(systemText(ARGUMENT_CHARS)).max(256).default([]).describe('Its arguments, unchanged.'),
  }),
  mode: 'once',
  reads: false,
  runs: 'agent',
  touches: ({ command, args }) => ({ command: { base: command, first: args[0] ?? null } }),
});
