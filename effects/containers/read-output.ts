import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { ContainerEngine } from './engine.ts';
import { ContainerOutput } from './output.ts';

/** Beyond this an adopter reads no more of a log: engines read their logs back slowly. */
const REREAD_BYTES = 32 * 1_048_576;
/** The engine closes the stream when the container has ended; a little later it counts as broken. */
const END_WITHIN_MS = 5_000;

/** The output of a container while it runs, from its start on. */
export interface LiveOutput {
  readonly output: ContainerOutput;
  /** Resolves when the stream has ended; false when it broke. */
  readonly ended: Promise<boolean>;
  close(): void;
}

/** Attached before the start, so that nothing is missed. `onBytes` hears how much there is so far. */
export async function attachOutput(
  engine: ContainerEngine,
  id: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
  onStdout: ((chunk: Buffer) => void) | null = null,
): Promise<LiveOutput> {
  const output = new ContainerOutput(onStdout);
  const stream = await engine.call(signal, (docker) =>
    docker.getContainer(id).attach({ stream: true, stdout: true, stderr: true }),
  );
  return {
    output,
    ended: read(stream, output, () => {
      onBytes(output.bytes);
      return true;
    }),
    close: () => destroy(stream),
  };
}

/**
 * What the engine has kept; the live output where that is too much to read again. A live stream that broke inside the
 * engine may end in order, with less than all or with words of the engine's own in it (seen with Podman 4.3).
 */
export async function finalOutput(
  engine: ContainerEngine,
  id: string,
  live: LiveOutput | null,
  signal: AbortSignal,
): Promise<ContainerOutput> {
  if (live !== null) {
    const late = new AbortController();
    const ended = await Promise.race([
      live.ended,
      engine.pause(END_WITHIN_MS, AbortSignal.any([signal, late.signal])).then(() => false),
    ]);
    late.abort();
    live.close();
    if (ended && live.output.bytes >= REREAD_BYTES) return live.output;
  }
  return rereadOutput(engine, id, signal);
}

/** From the engine's log of an ended container, from the beginning. */
async function rereadOutput(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<ContainerOutput> {
  return engine.call(
    signal,
    async (docker, stop) => {
      const output = new ContainerOutput();
      const stream = await openLog(docker, id, stop);
      stop.addEventListener('abort', () => destroy(stream), { once: true });
      const whole = await read(stream, output, () => output.bytes < REREAD_BYTES);
      if (!whole) throw Object.assign(new Error('the log could not be read'), { code: 'ECONNRESET' });
      return output;
    },
    120_000,
  );
}

/**
 * The log as a stream that ends. Not by the client's `logs`: with `follow` Podman 4 leaves out the end of an ended
 * container's log, without it the client holds all of it in memory. (And `attach` with `logs` counts Podman's frames
 * wrong.)
 */
function openLog(docker: Docker, id: string, abortSignal: AbortSignal): Promise<NodeJS.ReadableStream> {
  const statusCodes = { 200: true, 404: 'no such container', 500: 'server error' };
  const path = `/containers/${id}/logs?`;
  const options = { stdout: true, stderr: true };
  return new Promise((resolve, reject) => {
    docker.modem.dial({ path, options, method: 'GET', isStream: true, statusCodes, abortSignal }, (error, answer) => {
      if (error) reject(error);
      else if (answer instanceof Readable) resolve(answer);
      else reject(new Error('the engine sent no log'));
    });
  });
}

function destroy(stream: NodeJS.ReadableStream): void {
  if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy();
}

async function read(stream: NodeJS.ReadableStream, output: ContainerOutput, goOn: () => boolean): Promise<boolean> {
  try {
    for await (const chunk of stream) {
      output.push(Buffer.from(chunk));
      if (!goOn()) break;
    }
    return true;
  } catch {
    // Broken off: the caller reads the log instead.
    return false;
  }
}
