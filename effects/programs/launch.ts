import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { ProgramLimits } from './input.ts';
import { RUN_MARK, sessionBelow } from './process-table.ts';
import { type RunCgroup, runCgroups } from './run-cgroup.ts';

/**
 * Sets the limits and runs `$6 $7 …` as leader of its own process group. A guard in the group waits on descriptor 3, whose
 * other end the node holds: when the node closes it or dies, even by kill -9, the guard kills the whole group. The input is
 * never part of the script's text.
 *   $1 processor seconds  $2 data KiB  $3 largest file in 512-byte blocks  $4 open files
 *   $5 the control group to enter  ('-': no limit). The guard stays outside it.
 * A limit that cannot be set is already lower, since lowering is always allowed.
 */
const SCRIPT = `
(trap '' TERM INT HUP QUIT; exec >/dev/null 2>&1; read -r _ <&3; kill -s KILL -- -$$) &
umask 077
ulimit -c 0
[ "$1" = - ] || { ulimit -S -t "$1" && ulimit -H -t $(($1 + 1)); } 2>/dev/null
[ "$2" = - ] || ulimit -d "$2" 2>/dev/null
ulimit -f "$3" 2>/dev/null
ulimit -n "$4" 2>/dev/null
[ "$5" = - ] || echo $$ > "$5" || exit 126
shift 5
exec "$@" 3<&-
`;

/** Margin above the memory limit for one process between two checks of the watch, including thread stacks. */
const DATA_SLACK_BYTES = 256 * 1024 * 1024;

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ProgramLimits;
  /** As of `ViewedProgram`; changes which group gets TERM. */
  readonly sandboxed?: boolean;
  /** `pipe`: standard input is `child.stdin`. Absent: none. */
  readonly stdin?: 'pipe';
}

export interface LaunchedProgram {
  readonly child: ChildProcess;
  /** Process group, and id of its leader. */
  readonly group: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Whether the system has refused a process because of the limit. Absent without control groups. */
  readonly refused?: () => boolean;
  /** The process group that gets TERM: the program's own group inside a sandbox. */
  readonly terminationGroup: () => number;
  /** Makes the guard kill the rest of the group. */
  release(): void;
}

/** Starts a program. `endRun` removes its control group. Throws `program_failed`, or `unavailable` if the machine cannot start another process. */
export async function launch({
  program,
  args,
  directory,
  environment,
  limits,
  stdin,
  sandboxed = false,
}: Launch): Promise<LaunchedProgram> {
  const cgroup = await cgroupOf(environment, limits);
  let child: ChildProcess;
  try {
    const bounds = [...limitArguments(limits), cgroup?.entry ?? '-'];
    child = spawn('/bin/sh', ['-c', SCRIPT, 'svc-program', ...bounds, program, ...args], {
      cwd: directory,
      env: { ...environment },
      detached: true,
      stdio: withoutInherited([stdin ?? 'ignore', 'pipe', 'pipe', 'pipe']),
    });
    await started(child);
  } catch (error) {
    throw launchFailure(error);
  }
  const { pid, stdout, stderr } = child;
  const lifeline = child.stdio[3];
  if (pid === undefined || stdout === null || stderr === null || lifeline === null || lifeline === undefined) {
    throw new SvcError('program_failed', 'the program has no output to read');
  }
  // It breaks when the guard ends.
  lifeline.on('error', () => lifeline.destroy());
  const terminationGroup = (): number => (sandboxed ? (sessionBelow(pid) ?? pid) : pid);
  return {
    child,
    group: pid,
    stdout,
    stderr,
    refused: cgroup?.refused,
    terminationGroup,
    release: () => lifeline.destroy(),
  };
}

/** A control group for a run with a mark; `endRun` of the mark removes it. */
async function cgroupOf(environment: Launch['environment'], { processes }: ProgramLimits): Promise<RunCgroup | null> {
  const mark = environment[RUN_MARK];
  const cgroups = await runCgroups();
  if (mark === undefined || cgroups === null) return null;
  try {
    return await cgroups.open(mark, processes);
  } catch (cause) {
    throw new SvcError('unavailable', 'this node cannot limit the processes of another program', { cause });
  }
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

function limitArguments(limits: ProgramLimits): string[] {
  const { timeout_ms, memory_bytes, cpu_millicores, file_bytes, open_files } = limits;
  const seconds = cpu_millicores ? String(Math.ceil((timeout_ms / 1_000) * (cpu_millicores / 1_000))) : '-';
  const dataKib = memory_bytes ? String(Math.ceil((2 * memory_bytes + DATA_SLACK_BYTES) / 1_024)) : '-';
  return [seconds, dataKib, String(Math.ceil(file_bytes / 512)), String(open_files)];
}

/** Replaces the system's messages, which contain paths of this machine. */
function launchFailure(error: unknown): SvcError {
  const code = systemCode(error);
  if (code === 'EAGAIN' || code === 'ENOMEM' || code === 'EMFILE' || code === 'ENFILE') {
    return new SvcError('unavailable', `this node cannot start another program (${code})`, { cause: error });
  }
  if (code === 'E2BIG') {
    return new SvcError('program_failed', 'arguments and environment exceed the limit of the system', {
      cause: error,
    });
  }
  return new SvcError('program_failed', `the program could not be started (${code})`, { cause: error });
}

/** The highest of the standard descriptors. */
const STANDARD = 2;

const CLOSE_ON_EXEC = 0o2000000;

type Stdio = Exclude<StdioOptions, string>;

let inherited: { readonly descriptors: readonly number[]; readonly devNull: number } | undefined;

/**
 * Replaces descriptors that the parent of this node left open by `/dev/null`. The node's own descriptors are not inherited,
 * but it cannot close those of its parent.
 */
function withoutInherited(stdio: Stdio): Stdio {
  inherited ??= { descriptors: inheritable(), devNull: openSync('/dev/null', 'r+') };
  const all = [...stdio];
  for (const descriptor of inherited.descriptors) {
    if (descriptor < stdio.length) continue;
    while (all.length < descriptor) all.push('ignore');
    all[descriptor] = inherited.devNull;
  }
  return all;
}

/** Descriptors that programs would inherit from this process. Linux only. */
function inheritable(): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > STANDARD && !closesOnExec(descriptor))
    .sort((a, b) => a - b);
}

/** A descriptor that is closed meanwhile was opened by this check. */
function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true;
  }
}

/** Finds a program and checks it before a process is started. Throws `program_failed`. */
export async function findExecutable(baseDirectory: string, path: string): Promise<string> {
  const file = resolve(baseDirectory, path);
  const found = await stat(file).catch(() => null);
  if (found === null) throw new SvcError('program_failed', `the program ${path} does not exist on this node`);
  if (!found.isFile()) throw new SvcError('program_failed', `the program ${path} is not a file`);
  const executable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!executable) throw new SvcError('program_failed', `the program ${path} is not executable (chmod +x)`);
  await checkInterpreter(file, path);
  return file;
}

/** The system reports a missing interpreter as if the script were missing. */
async function checkInterpreter(file: string, path: string): Promise<void> {
  const start = await firstLine(file);
  if (start === null || !start.startsWith('#!')) return;
  const [interpreter] = start.slice(2).trim().split(/\s+/);
  if (interpreter === undefined || interpreter === '') {
    throw new SvcError('program_failed', `the first line of ${path} names no interpreter`);
  }
  if ((await stat(interpreter).catch(() => null)) === null) {
    throw new SvcError('program_failed', `the interpreter ${interpreter} of ${path} does not exist on this node`);
  }
}

/** Null if the file can be executed but not read, which is allowed. */
async function firstLine(file: string): Promise<string | null> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    return buffer.toString('latin1', 0, bytesRead).split('\n', 1)[0] ?? '';
  } finally {
    await handle.close();
  }
}
