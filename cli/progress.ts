import { describeEvent } from './event-lines.ts';
import type { ExecutionEvent } from './follow.ts';
import { numberOf, textOf } from './json.ts';

const TICK_MS = 200;
const CLEAR_LINE = '\r\u001b[2K';

/** Says on standard error that something happens: one line rewritten on a terminal, else plain lines. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  #doing = 'waiting';
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
    if (stream.isTTY) this.#timer = setInterval(() => this.#redraw(), TICK_MS).unref();
  }

  add(event: ExecutionEvent): void {
    if (event.name === 'iteration_output') {
      this.#chars += textOf(event.payload, 'output').length;
      return;
    }
    if (event.name === 'iteration_started') {
      this.#doing = `iteration ${numberOf(event.payload, 'iteration_number')}`;
      this.#chars = 0;
    }
    if (!this.#stream.isTTY) this.note(describeEvent(event));
  }

  /** A line that stays. */
  note(line: string): void {
    if (this.#timer === undefined) this.#stream.write(`${line}\n`);
    else this.#stream.write(`${CLEAR_LINE}${line}\n`);
  }

  /** Takes the rewritten line away. */
  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stream.write(CLEAR_LINE);
  }

  #redraw(): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    const output = this.#chars === 0 ? '' : ` · ${this.#chars} characters`;
    this.#stream.write(`${CLEAR_LINE}${this.#doing} · ${seconds} s${output}`);
  }
}
