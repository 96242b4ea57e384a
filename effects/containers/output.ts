import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type Docker from 'dockerode';
import type { ContainerEngine } from './engine.ts';

/** One stream of a container as text: keeps the first `limitBytes`, counts all bytes, decodes UTF-8 across chunks. */
export class CapturedStream {
  readonly #decoder = new StringDecoder('utf8');
  readonly #limitBytes: number;
  readonly #parts: string[] = [];
  #keptBytes = 0;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get truncated(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const kept = chunk.subarray(0, this.#limitBytes - this.#keptBytes);
    if (kept.length === 0) return;
    this.#keptBytes += kept.length;
    this.#parts.push(this.#decoder.write(kept));
  }

  /** The kept text. A character cut in half is dropped; invalid UTF-8 becomes U+FFFD. */
  text(): string {
    const text = this.#parts.join('');
    return this.truncated ? text : text + this.#decoder.end();
  }
}

/** Number of bytes kept of each stream (W12). */
const CAPTURE_BYTES = 1_048_576;

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Splits the engine's multiplexed stream into stdout and stderr: frames of [stream, 0, 0, 0, length as uint32] and data.
 * Holds only the kept text and at most one header.
 */
export class ContainerOutput {
  readonly stdout: CapturedStream;
  readonly stderr: CapturedStream;
  readonly #onStdout: ((chunk: Buffer) => void) | null;
  #header = Buffer.alloc(0);
  #left = 0;
  #into: CapturedStream;

  /** `onStdout` gets each chunk of stdout; `captureBytes` of each stream are kept. */
  constructor(onStdout: ((chunk: Buffer) => void) | null = null, captureBytes = CAPTURE_BYTES) {
    this.#onStdout = onStdout;
    this.stdout = new CapturedStream(captureBytes);
    this.stderr = new CapturedStream(captureBytes);
    this.#into = this.stdout;
  }

  get bytes(): number {
    return this.stdout.bytes + this.stderr.bytes;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      at += this.#left > 0 ? this.#data(chunk, at) : this.#head(chunk, at);
    }
  }

  #data(chunk: Buffer, at: number): number {
    const part = chunk.subarray(at, at + this.#left);
    this.#into.push(part);
    if (this.#into === this.stdout) this.#onStdout?.(part);
    this.#left -= part.length;
    return part.length;
  }

  #head(chunk: Buffer, at: number): number {
    const part = chunk.subarray(at, at + HEADER_BYTES - this.#header.length);
    this.#header = Buffer.concat([this.#header, part]);
    if (this.#header.length === HEADER_BYTES) {
      this.#into = this.#header[0] === STDERR ? this.stderr : this.stdout;
      this.#left = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return part.length;
  }
}

/** Maximum number of bytes of a log that are read back, since engines read their logs slowly. */
const REREAD_BYTES = 32 * 1_048_576;
/** The engine closes the stream when the container has ended; after this time it counts as broken. */
const END_WITHIN_MS = 5_000;

/** The output of a container from its start on. */
export interface LiveOutput {
  readonly output: ContainerOutput;
  /** Resolves when the stream has ended; false when it broke. */
  readonly ended: Promise<boolean>;
  close(): void;
}

/** Attach before the start, so that no output is missed. `onBytes` gets the total so far. */
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
 * The complete output of an ended container: the engine's log, or the live output if the log is too large to read again.
 * The live stream alone is not enough: one that breaks inside the engine can end without an error, incomplete or with the
 * engine's own messages in it (seen with Podman 4.3).
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
      engine.sleep(END_WITHIN_MS, AbortSignal.any([signal, late.signal])).then(() => false),
    ]);
    late.abort();
    live.close();
    if (ended && live.output.bytes >= REREAD_BYTES) return live.output;
  }
  return rereadOutput(engine, id, signal);
}

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
 * The log as a stream that ends. The client's own `logs` does not work: with `follow`, Podman 4 omits the end of an ended
 * container's log; without it, the client holds the whole log in memory. `attach` with `logs` miscounts Podman's frames.
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
    // The connection broke: the caller reads the log instead.
    return false;
  }
}
