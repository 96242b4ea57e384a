import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ToolCommandRequest, ToolCommandResult } from '../../usecases/ports/commands.ts';
import type { ContainerEngine } from '../containers/engine.ts';
import { isGone, refusalOf } from '../containers/engine-error.ts';
import { ContainerOutput } from '../containers/output.ts';
import { RUN_MARK } from '../programs/process-table.ts';
import { WORKSPACE } from '../programs/view.ts';
import { fitted } from './input.ts';
import { missing, scrubbed, type ToolProgram } from './tool-program.ts';

/**
 * Tells its process id in the first line of stderr, or `-` when $1 is not there; then becomes the rest, with a clean
 * environment. Nothing of the input is part of the script's text. Only what POSIX has: the image is anybody's.
 */
const SCRIPT = `
if ! command -v "$1" >/dev/null 2>&1; then echo - >&2; exit 127; fi
echo $$ >&2
shift
exec env -i "PATH=$PATH" "$@"
`;

/** `env` would take a command with `=` in its name for a variable. */
const STARTER = ['/bin/sh', '-c', 'exec "$@"', 'svc-command'];

const EXIT_WITHIN_MS = 10_000;

const EXIT_LOOK_MS = 50;

/** Of processes that hold it open although they were killed. */
const OUTPUT_WITHIN_MS = 2_000;

type Request = ToolCommandRequest & { readonly container_id: string };

type StopCause = 'timeout' | 'output' | 'cancelled';

/** One command in a running container, ended with its descendants. Throws what `ToolCommands` says. */
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
  // Also after its own end: what it left in the background must not stay.
  await endInContainer(engine, id, { pid: output.pid, mark: run, stopped: cause !== null });
  if (cause === 'cancelled') throw signal.reason;
  const code = await exitCode(engine, exec, cause === null);
  await output.finish(OUTPUT_WITHIN_MS);
  if (output.pid === '-') throw missing(request.command);
  const streams = fitted(output.texts(), request.max_output_bytes);
  const duration_ms = Math.round(performance.now() - startedAt);
  return { exit_code: code, ...streams, duration_ms, ...(cause === null ? {} : { stopped_by: cause }) };
}

/** Not given up half-way by a cancel: then nobody would know whether it runs. The engine's own time limit holds. */
async function started(engine: ContainerEngine, request: Request, program: ToolProgram, run: string) {
  const command = commandLine(request, program, run);
  try {
    const { signal } = new AbortController();
    return await startExec(engine, request.container_id, command, { directory: WORKSPACE, signal });
  } catch (thrown) {
    // Without an answer it may run all the same.
    if (thrown instanceof SvcError && thrown.code === 'unavailable') {
      await endInContainer(engine, request.container_id, { pid: null, mark: run, stopped: true });
    }
    throw thrown;
  }
}

function commandLine(request: Request, program: ToolProgram, run: string): string[] {
  const command = 'name' in program ? program.name : [WORKSPACE, ...program.parts].join('/');
  const given = { HOME: WORKSPACE, LANG: 'C.UTF-8', TMPDIR: '/tmp', SVC_WORKSPACE: WORKSPACE };
  const all = { ...given, SVC_EXECUTION_ID: request.execution_id, [RUN_MARK]: run };
  const variables = Object.entries(scrubbed(all, request.env_denylist)).map(([name, value]) => `${name}=${value}`);
  return ['/bin/sh', '-c', SCRIPT, 'svc-exec', command, ...variables, ...STARTER, command, ...request.args];
}

/** Null when the command ended by itself. */
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

/** The engine may learn of the end a little after the stream. */
async function exitCode(engine: ContainerEngine, exec: StartedExec, byItself: boolean): Promise<number> {
  const limit = AbortSignal.timeout(EXIT_WITHIN_MS);
  while (!limit.aborted) {
    const code = await exec.exitCode(new AbortController().signal);
    if (code !== null) return code;
    await engine.pause(EXIT_LOOK_MS, limit);
  }
  if (!byItself) return 137;
  throw new SvcError('unavailable', 'the container engine does not say how the command ended');
}

/**
 * Ends what a run left in the container: its process group ($1, `-`: unknown), then all that carry its mark ($2) in their
 * environment, until none is found. The mark is an argument here, so it finds nothing of itself.
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

const WITHIN_MS = 15_000;

interface EndRequest {
  /** Null: not known. */
  readonly pid: string | null;
  readonly mark: string;
  readonly stopped: boolean;
  /** Time limit. */
  readonly withinMs?: number;
}

/** TERM, a second later KILL, for a run that was stopped; what an ended one left in the background is killed at once. */
export async function endInContainer(
  engine: ContainerEngine,
  containerId: string,
  { pid, mark, stopped, withinMs = WITHIN_MS }: EndRequest,
): Promise<void> {
  // Of an ended run the process id may be another's by now; the mark is not.
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
    // A container that is gone has no processes; one that does not answer ends with its iteration.
  }
}

/** The line that names the process. */
const LONGEST_LINE_BYTES = 32;

/** Output of a command in a container: its process id first, then both streams up to a limit of both together. */
class ExecOutput {
  /** Resolves when the stream has ended, or was cut because there was more than the limit. */
  readonly ended: Promise<'ended' | 'flooded'>;
  readonly #stream: Readable;
  readonly #output: ContainerOutput;
  readonly #maxBytes: number;
  #pid: string | null = null;

  constructor(stream: Readable, maxBytes: number) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#output = new ContainerOutput(null, maxBytes + LONGEST_LINE_BYTES);
    this.ended = this.#read();
  }

  /** Process id in the container, `-` when there is no such command, null when it was not told. */
  get pid(): string | null {
    return this.#pid;
  }

  texts(): { readonly stdout: string; readonly stderr: string } {
    const stderr = this.#output.stderr.text();
    return { stdout: this.#output.stdout.text(), stderr: stderr.slice(this.#lineChars()) };
  }

  /** Waits so long for the end of the stream, then lets it go. */
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
      // The connection broke: what came so far counts, and the engine knows how the command ended.
    }
    return 'ended';
  }

  #findPid(): void {
    const [line, rest] = this.#output.stderr.text().slice(0, LONGEST_LINE_BYTES).split('\n', 2);
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

/** Throws `not_found` when the container is not there or has ended, `unavailable` without an answer. */
export async function startExec(
  engine: ContainerEngine,
  containerId: string,
  command: readonly string[],
  { directory, signal }: { readonly directory: string; readonly signal: AbortSignal },
): Promise<StartedExec> {
  try {
    const exec = await engine.once(signal, (docker) =>
      docker.getContainer(containerId).exec({
        ...{ Cmd: [...command], AttachStdin: false, AttachStdout: true, AttachStderr: true, Tty: false },
        WorkingDir: directory,
      }),
    );
    const stream = await engine.once(signal, () => exec.start({ hijack: false, stdin: false, Tty: false }));
    // The client calls it a duplex stream; without input it is the body of an answer.
    if (!(stream instanceof Readable))
      throw new SvcError('container_failed', 'the engine sent no output of the command');
    return { stream, exitCode: (stop) => exitCodeOf(engine, exec, stop) };
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (refusal === null) throw thrown;
    if (isGone(thrown) || refusal.statusCode === 409) {
      throw new SvcError('not_found', 'the container of the agent does not run any more', { cause: thrown });
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
