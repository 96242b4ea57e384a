import { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { KnownVolume } from '../../manifests/metadata.ts';
import type { ProgramRules } from '../../manifests/tool/contract.ts';
import { type ErrorCode, invalidField, SvcError } from '../../runtime/errors.ts';

export interface CommandResult extends ProgramResult {
  /** The record of the workspace's volume; absent when the request carried it or there is no volume. */
  readonly workspace?: KnownVolume;
}

export interface CommandRequest extends Command {
  readonly tenant: string;
  /** Null: an empty workspace, removed after the command. */
  readonly workspace: {
    readonly volume_id: string;
    readonly implicit: boolean;
    readonly known?: KnownVolume | undefined;
  } | null;
  readonly mounts?: readonly Omit<Mount, 'create'>[];
  /** Written below the workspace before the command. */
  readonly files?: readonly { readonly path: string; readonly content: string }[] | undefined;
  /** Set as SVC_EXECUTION_ID and SVC_STATE. */
  readonly execution_id?: string;
  readonly state_name?: string;
}

/**
 * Runs shell commands on this host, for System states and ExecuteSystemCommand. Implemented by command-runner.ts. Every
 * exit code is a result, as is the end by a time-out (`timed_out`) or another limit (`stopped_by`). Throws `forbidden`
 * for tenants without host commands (S6), `invalid_argument`, `quota_exceeded` for a full volume, `not_found` for an
 * unknown volume, `program_failed`, `unavailable`, and the signal's reason.
 */
export interface CommandRunner {
  run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult>;
}

/** One command of `cmd.run`, without a shell (W44). */
export interface ToolCommandRequest {
  readonly tenant: string;
  readonly execution_id: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly mounts: readonly Mount[];
  readonly timeout_ms: number;
  /** Limit for stdout and stderr together. */
  readonly max_output_bytes: number;
  /** Concurrent commands of this execution on this node; further ones wait within their time-out. Default 1. */
  readonly max_concurrent?: number;
  /** Rules of the agent's manifest. Absent: no network and the whole workspace. */
  readonly rules?: ProgramRules;
  /** Variables hidden from the command, besides the built-in ones: names or patterns with `*`. */
  readonly env_denylist: readonly string[];
  /** Container to run in, for isolation `docker`. */
  readonly container_id?: string;
  /** Its standard input; absent: none. Not for commands in a container. */
  readonly input?: string;
}

export interface ToolCommandResult {
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  /** The ceiling that ended the command. It counts as a failure of the tool. */
  readonly stopped_by?: 'timeout' | 'output' | 'memory' | 'processes';
}

/**
 * Runs `cmd.run` where the agent runs: on this host in the execution's workspace, or in its container. Implemented by
 * tool-commands.ts. All processes of a command end with it. Throws `invalid_argument` for a command that is neither a name
 * nor a path below /workspace, `failed_precondition` (ConcurrentExecLimitExceeded) if no slot becomes free in time,
 * `forbidden` for tenants without host commands (S6), `not_found` for an unknown command, `unsupported_isolation`,
 * `quota_exceeded`, and the signal's reason.
 */
export interface ToolCommands {
  run(request: ToolCommandRequest, signal: AbortSignal): Promise<ToolCommandResult>;
}

/** Validates a command from outside. Throws `invalid_argument` naming the field. */
export function parseCommand(given: {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly timeout_ms: number;
}): Command {
  const parsed = Command.safeParse(given, { error: expectation });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? 'command').replace('timeout_ms', 'timeout_seconds');
  const keyIssue = issue?.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
  throw invalidField(field, keyIssue ?? issue?.message ?? 'expected another value');
}

/** Linux limits one argument or `NAME=value` to 128 KiB with its closing NUL (MAX_ARG_STRLEN). */
export const STRING_LIMIT_BYTES = 131_071;

/** A text that the system takes as one argument or variable of a program. */
export const systemString = (what: string) =>
  z
    .string()
    .refine((value) => !value.includes('\0'), `expected ${what} without NUL`)
    .refine(
      (value) => Buffer.byteLength(value) < STRING_LIMIT_BYTES,
      `expected ${what} of less than ${STRING_LIMIT_BYTES} bytes, the limit of the system`,
    );

/**
 * Name of an environment variable. Loader variables are refused: they would run code inside the launcher, before the
 * limits apply.
 */
export const EnvironmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'expected names of letters, digits and underscores')
  .refine(
    (name) => !/^(LD_|DYLD_|BASH_ENV$|ENV$)/.test(name),
    'expected no name that changes the launcher: LD_*, DYLD_*, BASH_ENV, ENV',
  );

export interface ProgramResult {
  /** As a shell reports it: 128 plus the signal's number when a signal ended the command. */
  readonly exit_code: number;
  readonly signal?: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly timed_out: boolean;
  /** The limit that made this node end the command. */
  readonly stopped_by?: 'timeout' | 'output' | 'memory' | 'processes';
  /** It has failed although it ran: a volume became full. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string };
}

/** The result of a program that has not failed. Throws its failure. */
export function unfailed<Result extends Pick<ProgramResult, 'failure'>>(result: Result): Result {
  if (result.failure !== undefined) throw new SvcError(result.failure.code, result.failure.message);
  return result;
}

/** A volume of the workflow and its path in the program (W4). */
export const Mount = z.object({
  volume_id: z.string().min(1).max(128),
  /** `/workspace` makes the volume the workspace; any other path lies below it. */
  mount_path: z
    .string()
    .max(1_024)
    .regex(/^\/workspace(\/[^/\0]+)*\/?$/, 'a path at or under /workspace')
    .refine((path) => !path.split('/').includes('..'), 'a path without ..'),
  read_only: z.boolean().default(false),
  /** True for the workspace of a workflow execution without storage: it is created if missing. */
  create: z.boolean().default(false),
  known: KnownVolume.optional(),
});

export type Mount = z.output<typeof Mount>;

/** Longest run of a program or a container, ms. */
export const RunMs = z
  .number()
  .int()
  .min(1)
  .max(24 * 3_600_000);

const MAX_VARIABLES = 256;

const MAX_ENV_BYTES = 512 * 1024;

const Environment = z
  .record(EnvironmentName, systemString('an environment value'))
  .refine((env) => Object.keys(env).length <= MAX_VARIABLES, `expected at most ${MAX_VARIABLES} variables`)
  .refine(
    (env) =>
      Object.entries(env).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0) <=
      MAX_ENV_BYTES,
    `expected at most ${MAX_ENV_BYTES} bytes together`,
  );

/** One shell command of a workflow's System state or of a caller of ExecuteSystemCommand. */
export const Command = z.object({
  command: systemString('the command').min(1, 'expected a command'),
  /** Plain text. References such as `secret:NAME` are not resolved, since values may come from a user's input. */
  env: Environment.default({}),
  /**
   * At or under `/workspace`, created if missing; a relative path starts there. A command without a volume may run in any
   * absolute directory that exists.
   */
  workdir: systemString('workdir').max(1_024).default('/workspace'),
  timeout_ms: RunMs,
});

export type Command = z.output<typeof Command>;
