import { StringDecoder } from 'node:string_decoder';
import { Redactor } from './redact.ts';

/** One stream of a program as text: UTF-8 across chunk borders, without secrets, the first `limitBytes` of it. */
export class CapturedOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #redactor: Redactor;
  readonly #take: (text: string) => void;
  readonly #parts: string[] = [];
  #leftBytes: number;
  #truncated = false;

  /** `take` is called with each piece that is kept. */
  constructor(limitBytes: number, secrets: readonly string[], take: (text: string) => void = () => {}) {
    this.#leftBytes = limitBytes;
    this.#redactor = new Redactor(secrets);
    this.#take = take;
  }

  get text(): string {
    return this.#parts.join('');
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** What comes beyond the limit is read and thrown away, so that the program does not block. */
  push(chunk: Buffer): void {
    if (!this.#truncated) this.#keep(this.#redactor.push(this.#decoder.write(chunk)));
  }

  end(): void {
    if (this.#truncated) return;
    this.#keep(this.#redactor.push(this.#decoder.end()));
    this.#keep(this.#redactor.end());
  }

  #keep(text: string): void {
    if (text === '' || this.#truncated) return;
    const bytes = Buffer.byteLength(text);
    this.#truncated = bytes > this.#leftBytes;
    // The decoder of a cut text keeps the half character at its end to itself.
    const kept = this.#truncated
      ? new StringDecoder('utf8').write(Buffer.from(text).subarray(0, this.#leftBytes))
      : text;
    this.#leftBytes -= Math.min(bytes, this.#leftBytes);
    if (kept === '') return;
    this.#parts.push(kept);
    this.#take(kept);
  }
}
