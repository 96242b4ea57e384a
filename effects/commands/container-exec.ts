import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerEngine } from '../containers/engine.ts';
import { isGone, refusalOf } from '../containers/engine-error.ts';

/** A process started in a running container. */
export interface StartedExec {
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
