import { StringDecoder } from 'node:string_decoder';

/** One stream of a container as text: UTF-8 across chunk borders, the first `limitBytes` of it, all of it counted. */
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

  /** The kept text. Half a character at a cut is left out; bytes that are no UTF-8 become U+FFFD. */
  text(): string {
    const text = this.#parts.join('');
    return this.truncated ? text : text + this.#decoder.end();
  }
}
