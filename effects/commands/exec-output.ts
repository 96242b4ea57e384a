import type { Readable } from 'node:stream';
import { ContainerOutput } from '../containers/output.ts';

/** The line that names the process. */
const LONGEST_LINE_BYTES = 32;

/** Output of a command in a container: its process id first, then both streams up to a limit of both together. */
export class ExecOutput {
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
