import { CapturedStream } from './captured-stream.ts';

/** Kept of each stream (W12). */
const CAPTURE_BYTES = 1_048_576;

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Both streams of a container from the engine's multiplexed one: frames of [stream, 0, 0, 0, length as uint32] and
 * data. Holds the kept text and at most one header; a frame is passed on as it comes.
 */
export class ContainerOutput {
  readonly stdout: CapturedStream;
  readonly stderr: CapturedStream;
  readonly #onStdout: ((chunk: Buffer) => void) | null;
  #header = Buffer.alloc(0);
  #left = 0;
  #into: CapturedStream;

  /** `onStdout` hears what comes on that stream; `captureBytes` are kept of each. */
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
