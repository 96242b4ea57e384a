import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { SvcError } from '../../runtime/errors.ts';
import { RUN_MARK } from './environment.ts';
import { withoutInherited } from './inherited.ts';
import type { ProgramLimits } from './input.ts';
import { sessionBelow } from './process-table.ts';
import { type RunCgroup, runCgroups } from './run-cgroup.ts';

/**
 * Runs `$6 $7 …` as leader of its own process group, limits first. A guard in the same group waits on descriptor 3,
 * whose other end this node holds and never writes to: when the node closes it or dies, however it dies, the guard
 * kills the whole group. Nothing of the input is part of the script's text.
 *   $1 processor seconds  $2 data KiB  $3 largest file in 512-byte blocks  $4 open files
 *   $5 the control group to enter  ('-': no limit). The guard stays outside it.
 * A limit that cannot be set is lower already: only lowering is allowed to everybody.
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

/** Above the memory limit: what one process may have while the watch has not looked yet, stacks of its threads too. */
const DATA_SLACK_BYTES = 256 * 1024 * 1024;

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ProgramLimits;
  /** As of `ViewedProgram`: how it is asked to end is another then. */
  readonly sandboxed?: boolean;
  /** Its standard input is `child.stdin`; without it there is none. */
  readonly stdin?: 'pipe';
}

export interface LaunchedProgram {
  readonly child: ChildProcess;
  /** Process group, and id of its leader. */
  readonly group: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Whether the system refused it a process for its limit; a sampled count tells where there are no control groups. */
  readonly refused?: () => boolean;
  /** The process group that a program is asked to end in: the program's own, where that is another one. */
  readonly asked: () => number;
  /** Makes the guard kill what is left of the group. */
  release(): void;
}

/** Starts a program; `endRun` of its mark removes its control group. Throws `program_failed`, or `unavailable` when the machine has no room for one more process. */
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
  // The guard's death closes it from the other side.
  lifeline.on('error', () => lifeline.destroy());
  const bounded = cgroup === null ? {} : { refused: cgroup.refused };
  const asked = (): number => (sandboxed ? (sessionBelow(pid) ?? pid) : pid);
  return { child, group: pid, stdout, stderr, ...bounded, asked, release: () => lifeline.destroy() };
}

/** Of a run that has a mark: then its end is known, and removes the group. */
async function cgroupOf(environment: Launch['environment'], { processes }: ProgramLimits): Promise<RunCgroup | null> {
  const mark = environment[RUN_MARK];
  const cgroups = await runCgroups();
  if (mark === undefined || cgroups === null) return null;
  try {
    return await cgroups.open(mark, processes);
  } catch (cause) {
    throw new SvcError('unavailable', 'this node cannot bound the processes of one more program', { cause });
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

/** The system's errors name paths of this machine and, for E2BIG, nothing useful: say it in our words. */
function launchFailure(error: unknown): SvcError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'EAGAIN' || code === 'ENOMEM' || code === 'EMFILE' || code === 'ENFILE') {
    return new SvcError('unavailable', `this node has no room for one more program (${code})`, { cause: error });
  }
  if (code === 'E2BIG') {
    return new SvcError('program_failed', 'arguments and environment are larger than the system takes', {
      cause: error,
    });
  }
  return new SvcError('program_failed', `the program could not be started (${code})`, { cause: error });
}
