import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { traceVariables } from '../../runtime/tracing/trace-context.ts';
import type { ToolCommandRequest, ToolCommandResult } from '../../usecases/ports/commands.ts';
import type { ContainerEngine } from '../containers/engine.ts';
import { isGone, refusalOf } from '../containers/engine-error.ts';
import { ContainerOutput } from '../containers/output.ts';
import { RUN_MARK } from '../programs/process-table.ts';
import { WORKSPACE } from '../programs/view.ts';
import { fitted } from './input.ts';
import { missing, scrubbed, type ToolProgram } from './tool-program.ts';

/**
 * Writes its process id to the first line of stderr, or `-` if $1 does not exist, then executes the rest with a clean
 * environment. The input is never part of the script's text. POSIX only, since it must run in any image.
 */
const SCRIPT = `
if ! command -v "$1" >/dev/null 2>&1; then echo - >&2; exit 127; fi
echo $$ >&2
shift
exec env -i "PATH=$PATH" "$@"
`;

/** Without it, `env` would read a command with `=` in its name as a variable. */
const STARTER = ['/bin/sh', '-c', 'exec "$@"', 'svc-command'];

const EXIT_WITHIN_MS = 10_000;

const EXIT_POLL_MS = 50;

/** How long to read output that killed processes still hold open. */
const OUTPUT_WITHIN_MS = 2_000;

type Request = ToolCommandRequest & { readonly container_id: string };

type StopCause = 'timeout' | 'output' | 'cancelled';

/** Runs one command in a running container and ends its descendants. Throws as documented at `ToolCommands`. */
export async function runInContainer(
  engine: ContainerEngine,
  request: Request,
  program: ToolProgram,
  signal: AbortSignal,
): Promise<ToolCommandResult> {
  const { container_id: id, timeout_ms } = request;
  const run = randomUUID();
  const startedAt = performance.now();
  signal.throwIfAborted();
  const exec = await started(engine, request, program, run);
  const output = new ExecOutput(exec.stream, request.max_output_bytes);
  const cause = await firstEnd(output, timeout_ms, signal);
  // Also after a normal end: background processes must not stay.
  await endInContainer(engine, id, { pid: output.pid, mark: run, stopped: cause !== null });
  if (cause === 'cancelled') throw signal.reason;
  const code = await exitCode(engine, exec, cause === null);
  await output.finish(OUTPUT_WITHIN_MS);
  if (output.pid === '-') throw missing(request.command);
  const streams = fitted(output.texts(), request.max_output_bytes);
  const duration_ms = Math.round(performance.now() - startedAt);
  return { exit_code: code, ...streams, duration_ms, ...(cause === null ? {} : { stopped_by: cause }) };
}

/** Ignores a cancel, which would leave unknown whether the command runs. The time-out of the engine applies. */
async function started(engine: ContainerEngine, request: Request, program: ToolProgram, run: string) {
  const command = commandLine(request, program, run);
  try {
    const { signal } = new AbortController();
    return await startExec(engine, request.container_id, command, { directory: WORKSPACE, signal });
  } catch (thrown) {
    // Without an answer the command may run.
    if (thrown instanceof SvcError && thrown.code === 'unavailable') {
      await endInContainer(engine, request.container_id, { pid: null, mark: run, stopped: true });
    }
    throw thrown;
  }
}

function commandLine(request: Request, program: ToolProgram, run: string): string[] {
  const command = 'name' in program ? program.name : [WORKSPACE, ...program.parts].join('/');
  const given = { HOME: WORKSPACE, LANG: 'C.UTF-8', TMPDIR: '/tmp', SVC_WORKSPACE: WORKSPACE };
  const trace = traceVariables(outgoingTrace());
  const all = { ...given, ...trace, SVC_EXECUTION_ID: request.execution_id, [RUN_MARK]: run };
  const variables = Object.entries(scrubbed(all, request.env_denylist)).map(([name, value]) => `${name}=${value}`);
  return ['/bin/sh', '-c', SCRIPT, 'svc-exec', command, ...variables, ...STARTER, command, ...request.args];
}

/** Null if the command ended by itself. */
function firstEnd(output: ExecOutput, timeoutMs: number, signal: AbortSignal): Promise<StopCause | null> {
  return new Promise((resolve) => {
    const done = (cause: StopCause | null): void => {
      cancelTimeout();
      signal.removeEventListener('abort', onAbort);
      resolve(cause);
    };
    const onAbort = (): void => done('cancelled');
    const cancelTimeout = longTimer(timeoutMs, () => done('timeout'));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    output.ended.then(
      (how) => done(how === 'flooded' ? 'output' : null),
      () => done(null),
    );
  });
}

/** The engine may know the exit code a little later than the end of the stream. */
async function exitCode(engine: ContainerEngine, exec: StartedExec, byItself: boolean): Promise<number> {
  const limit = AbortSignal.timeout(EXIT_WITHIN_MS);
  while (!limit.aborted) {
    const code = await exec.exitCode(new AbortController().signal);
    if (code !== null) return code;
    await engine.sleep(EXIT_POLL_MS, limit);
  }
  if (!byItself) return 137;
  throw new SvcError('unavailable', 'the container engine does not report the exit code of the command');
}

/**
 * Ends the processes of a run in the container: its process group ($1, `-`: unknown), then all processes with its mark ($2) in
 * their environment, until none is found. The mark is an argument here, so the script does not find itself.
 */
const END_SCRIPT = `
if [ "$1" != - ]; then
  kill -s TERM -- "-$1" 2>/dev/null || kill -s TERM "$1" 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -s 0 -- "-$1" 2>/dev/null || break
    sleep 0.1 2>/dev/null || sleep 1
  done
  kill -s KILL -- "-$1" 2>/dev/null
  kill -s KILL "$1" 2>/dev/null
fi
for _ in 1 2 3 4 5; do
  found=
  for file in /proc/[0-9]*/environ; do
    grep -q "$2" "$file" 2>/dev/null || continue
    pid=\${file#/proc/}
    kill -s KILL "\${pid%/environ}" 2>/dev/null && found=1
  done
  [ -n "$found" ] || break
done
:
`;

const END_WITHIN_MS = 15_000;

interface EndRequest {
  /** Null: unknown. */
  readonly pid: string | null;
  readonly mark: string;
  readonly stopped: boolean;
  /** Time-out for ending the processes. */
  readonly withinMs?: number;
}

/** Sends TERM and a second later KILL to a stopped run; kills background processes of an ended run at once. */
export async function endInContainer(
  engine: ContainerEngine,
  containerId: string,
  { pid, mark, stopped, withinMs = END_WITHIN_MS }: EndRequest,
): Promise<void> {
  // After the end of a run its process id may be reused, so only the mark counts.
  const group = stopped && pid !== null ? pid : '-';
  const command = ['/bin/sh', '-c', END_SCRIPT, 'svc-end', group, mark];
  const signal = AbortSignal.timeout(withinMs);
  try {
    const { stream } = await startExec(engine, containerId, command, { directory: '/', signal });
    const stop = (): void => void stream.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      for await (const _ of stream) signal.throwIfAborted();
    } finally {
      signal.removeEventListener('abort', stop);
    }
  } catch {
    // A removed container has no processes; one that does not answer ends with its iteration.
  }
}

/** Longest line with the process id. */
const PID_LINE_BYTES = 32;

/** Output of a command in a container: its process id, then both streams up to a common limit. */
class ExecOutput {
  /** Resolves when the stream has ended or exceeded the limit. */
  readonly ended: Promise<'ended' | 'flooded'>;
  readonly #stream: Readable;
  readonly #output: ContainerOutput;
  readonly #maxBytes: number;
  #pid: string | null = null;

  constructor(stream: Readable, maxBytes: number) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#output = new ContainerOutput(null, maxBytes + PID_LINE_BYTES);
    this.ended = this.#read();
  }

  /** Process id in the container, `-` if the command does not exist, null if unknown. */
  get pid(): string | null {
    return this.#pid;
  }

  texts(): { readonly stdout: string; readonly stderr: string } {
    const stderr = this.#output.stderr.text();
    return { stdout: this.#output.stdout.text(), stderr: stderr.slice(this.#lineChars()) };
  }

  /** Waits for the end of the stream, then closes it. */
  async finish(withinMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, withinMs);
    await Promise.race([this.ended, late.promise]);
    clearTimeout(timer);
    this.#stream.destroy();
  }

  async #read(): Promise<'ended' | 'flooded'> {
    try {
      for await (const chunk of this.#stream) {
        this.#output.push(Buffer.from(chunk));
        if (this.#pid === null) this.#findPid();
        if (this.#output.bytes - this.#lineChars() > this.#maxBytes) return 'flooded';
      }
    } catch {
      // The connection broke: the output so far is used, and the engine has the exit code.
    }
    return 'ended';
  }

  #findPid(): void {
    const [line, rest] = this.#output.stderr.text().slice(0, PID_LINE_BYTES).split('\n', 2);
    if (line !== undefined && rest !== undefined && /^(\d+|-)$/.test(line)) this.#pid = line;
  }

  #lineChars(): number {
    return this.#pid === null ? 0 : this.#pid.length + 1;
  }
}

/** A process started in a running container. */
interface StartedExec {
  /** Multiplexed stdout and stderr. */
  readonly stream: Readable;
  /** Null while it runs. */
  exitCode(signal: AbortSignal): Promise<number | null>;
}

/** Throws `not_found` if the container does not run, `unavailable` without an answer. */
export async function startExec(
  engine: ContainerEngine,
  containerId: string,
  command: readonly string[],
  { directory, signal }: { readonly directory: string; readonly signal: AbortSignal },
): Promise<StartedExec> {
  try {
    const exec = await engine.once(signal, (docker) =>
      docker.getContainer(containerId).exec({
        Cmd: [...command],
        AttachStdin: false,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        WorkingDir: directory,
      }),
    );
    const stream = await engine.once(signal, () => exec.start({ hijack: false, stdin: false, Tty: false }));
    // The client's type is a duplex stream; without input it is the body of the answer.
    if (!(stream instanceof Readable))
      throw new SvcError('container_failed', 'the engine sent no output of the command');
    return { stream, exitCode: (stop) => exitCodeOf(engine, exec, stop) };
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (refusal === null) throw thrown;
    if (isGone(thrown) || refusal.statusCode === 409) {
      throw new SvcError('not_found', 'the container of the agent no longer runs', { cause: thrown });
    }
    throw new SvcError('container_failed', `the command could not be started in the container: ${refusal.reason}`, {
      cause: thrown,
    });
  }
}

async function exitCodeOf(engine: ContainerEngine, exec: Docker.Exec, signal: AbortSignal): Promise<number | null> {
  const { Running, ExitCode } = await engine.call(signal, () => exec.inspect());
  return Running ? null : ExitCode;
}
