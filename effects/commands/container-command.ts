import { randomUUID } from 'node:crypto';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerEngine } from '../containers/engine.ts';
import { RUN_MARK } from '../programs/environment.ts';
import { WORKSPACE } from '../programs/view.ts';
import type { ToolCommandRequest, ToolCommandResult } from './api.ts';
import { endInContainer } from './container-end.ts';
import { type StartedExec, startExec } from './container-exec.ts';
import { ExecOutput } from './exec-output.ts';
import { fitted } from './output-ceiling.ts';
import { scrubbed } from './tool-environment.ts';
import { missing, type ToolProgram } from './tool-program.ts';

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
