import { fstatSync, write, writeSync } from 'node:fs';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { jsonObjectIn } from '../../runtime/json.ts';

/** Most bytes of lines that wait for a slow reader; further lines are dropped. */
const MOST_WAITING_BYTES = 1_024 * 1_024;
const MOST_A_WRITE_BYTES = 64 * 1_024;
/** Pause before a failed write is tried again, ms. */
const AGAIN_MS = 1_000;
/** Pause before writing again to a pipe whose reader is slow, ms. */
const BUSY_AGAIN_MS = 20;
const BUSY = new Set(['EAGAIN', 'EBUSY', 'EINTR']);

/** The functions of `node:fs` that `LogOutput` needs; tests replace them. */
export interface LogFile {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  writeSync(bytes: Buffer): void;
}

/** One write in progress. */
interface Part {
  readonly bytes: Buffer;
  /** End offsets of its lines in `bytes`. */
  readonly ends: readonly number[];
  /** Number of dropped lines that its notice reports, and the end offset of the notice. */
  readonly said: number;
  readonly saidEnd: number;
  written: number;
}

/**
 * Writes a node's log without ever blocking or ending the process. A line that cannot be written (full disk, reader gone) and a
 * line for which a slow reader leaves no space are dropped and counted. When writing works again, a line with `dropped_lines`
 * reports the count.
 */
export class LogOutput {
  readonly #file: LogFile;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #idle = new Set<() => void>();
  #waiting: string[] = [];
  #waitingBytes = 0;
  #part: Part | null = null;
  /** Set while it pauses before the next write, after an error or for a slow reader. */
  #paused: 'failing' | 'busy' | null = null;
  #dropped = 0;
  /** True when the last line in the file has no line end. */
  #torn = false;

  constructor(file: LogFile, clock: Pick<Clock, 'now' | 'after'> = systemClock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Number of dropped lines that no notice has reported yet. */
  get droppedLines(): number {
    return this.#dropped;
  }

  /** Queues one line with its line end. Never throws and never blocks. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#paused === 'failing' || this.#waitingBytes + bytes > MOST_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    this.#pump();
  }

  /** Resolves when everything is written, when writing fails, or after `withinMs`. */
  async flush(withinMs: number): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.#idle.delete(end);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, end);
      this.#idle.add(end);
    });
  }

  /** Tries once to write the waiting lines synchronously. For the end of the process. */
  writeRest(): void {
    if (this.#part === null) this.#part = this.#next();
    if (this.#part === null) return;
    try {
      this.#file.writeSync(Buffer.concat([this.#part.bytes.subarray(this.#part.written), ...this.#rest()]));
    } catch {
      // The process ends, so nothing can report this error.
    }
  }

  #rest(): Buffer[] {
    const rest = this.#waiting.map((line) => Buffer.from(line));
    this.#waiting = [];
    return rest;
  }

  #isIdle(): boolean {
    return this.#paused === 'failing' || (this.#part === null && this.#waiting.length === 0);
  }

  #pump(): void {
    if (this.#part !== null || this.#paused !== null) return;
    this.#part = this.#next();
    if (this.#part !== null) this.#write(this.#part);
    else for (const end of [...this.#idle]) end();
  }

  /** The next write. A notice about dropped lines comes before the lines that follow them. */
  #next(): Part | null {
    const said = this.#dropped;
    if (said === 0 && this.#waiting.length === 0) return null;
    const notice = Buffer.from(`${this.#torn ? '\n' : ''}${said === 0 ? '' : this.#notice(said)}`);
    const parts = [notice];
    const ends: number[] = [];
    let length = notice.length;
    let taken = 0;
    for (const line of this.#waiting) {
      const bytes = Buffer.from(line);
      if (taken > 0 && length + bytes.length > MOST_A_WRITE_BYTES) break;
      parts.push(bytes);
      length += bytes.length;
      ends.push(length);
      this.#waitingBytes -= bytes.length;
      taken += 1;
    }
    this.#waiting = this.#waiting.slice(taken);
    return { bytes: Buffer.concat(parts), ends, said, saidEnd: notice.length, written: 0 };
  }

  #notice(lines: number): string {
    const msg = 'lines of this log could not be written and were dropped';
    return `${JSON.stringify({ level: 40, time: this.#clock.now(), dropped_lines: lines, msg })}\n`;
  }

  #write(part: Part): void {
    this.#file.write(part.bytes.subarray(part.written), (error, written) => {
      if (error === null) this.#written(part, written);
      else if (BUSY.has(error.code ?? '')) this.#pause('busy', BUSY_AGAIN_MS);
      else this.#failed(part);
    });
  }

  #written(part: Part, bytes: number): void {
    part.written += bytes;
    if (part.written < part.bytes.length) {
      this.#write(part);
      return;
    }
    this.#dropped -= part.said;
    this.#torn = false;
    this.#part = null;
    this.#pump();
  }

  #failed({ ends, written, bytes, said, saidEnd }: Part): void {
    // A line that lacks only its line end counts as written: the next write begins with that.
    const isThere = (end: number): boolean => end <= written + 1;
    if (written > 0 && isThere(saidEnd)) this.#dropped -= said;
    this.#dropped += ends.filter((end) => !isThere(end)).length + this.#waiting.length;
    this.#torn = written > 0 ? bytes[written - 1] !== NEWLINE : this.#torn;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#part = null;
    this.#pause('failing', AGAIN_MS);
    for (const end of [...this.#idle]) end();
  }

  #pause(why: 'failing' | 'busy', forMs: number): void {
    this.#paused = why;
    this.#clock.after(forMs, () => {
      this.#paused = null;
      if (this.#part === null) this.#pump();
      else this.#write(this.#part);
    });
  }
}

const NEWLINE = '\n'.charCodeAt(0);
const STANDARD_ERROR = 2;

let shared: LogOutput | null = null;

/** The log on standard error of this process. All loggers share one, so that their lines do not mix. */
export function standardErrorLog(): LogOutput {
  if (shared !== null) return shared;
  if (isPipe(STANDARD_ERROR)) {
    // Opening standard error as a stream makes a write to a full pipe fail with EAGAIN instead of blocking a thread.
    process.stderr.on('error', () => undefined);
  }
  const log = new LogOutput({
    write: (bytes, done) => write(STANDARD_ERROR, bytes, 0, bytes.length, null, done),
    writeSync: (bytes) => void writeSync(STANDARD_ERROR, bytes),
  });
  process.once('exit', () => log.writeRest());
  shared = log;
  return log;
}

function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // Standard error is closed: each write will report that.
    return false;
  }
}

/** Names of pino's levels. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Output for the lines of a log. */
interface LineOutput {
  write(line: string): void;
}

/** Writes each JSON line of a log as one line for people (`spec.observability.logging.format: text`). */
export const textLines = (output: LineOutput): LineOutput => ({
  write: (line) => output.write(`${textOf(line)}\n`),
});

/** `2026-01-31T12:00:00.000Z WARN a run failed event=run_ended run=…`; a line that is not a JSON object stays unchanged. */
function textOf(line: string): string {
  const fields = jsonObjectIn(line);
  // The logger did not write another line.
  if (fields === null) return line.trimEnd();
  const { time, level, msg, ...rest } = fields;
  const head = [
    typeof time === 'number' ? new Date(time).toISOString() : '',
    (LEVELS[Number(level)] ?? String(level ?? '')).padEnd(5),
    typeof msg === 'string' ? msg : '',
  ];
  const more = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
  return [...head, ...more].filter((part) => part !== '').join(' ');
}

/** Quotes a value that is not one word, so that it cannot look like another field or line. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text);
}
