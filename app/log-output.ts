import { fstatSync, write, writeSync } from 'node:fs';
import { type Clock, systemClock } from '../runtime/clock.ts';

/** Most bytes of lines that wait for a slow reader; more are dropped. */
const MOST_WAITING_BYTES = 1_024 * 1_024;
const MOST_A_WRITE_BYTES = 64 * 1_024;
/** Between two tries of what cannot be written. */
const AGAIN_MS = 1_000;
/** Between two tries at a pipe whose reader is behind. */
const BUSY_AGAIN_MS = 20;
const BUSY = new Set(['EAGAIN', 'EBUSY', 'EINTR']);

/** The part of `node:fs` that it uses; tests put a disk of their own in its place. */
export interface LogFile {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  writeSync(bytes: Buffer): void;
}

/** One write that is under way. */
interface Part {
  readonly bytes: Buffer;
  /** Ends of its lines in `bytes`. */
  readonly ends: readonly number[];
  /** How many lines dropped before it tells of, and where that line ends. */
  readonly said: number;
  readonly saidEnd: number;
  written: number;
}

/**
 * Where a node's log goes: never waited for and never a reason to end. A line that cannot be written (a full disk, a
 * reader that is gone) is dropped and counted, and so are lines for which a slow reader leaves no room; the count is a
 * line of its own, `dropped_lines`, as soon as something can be written again.
 */
export class LogOutput {
  readonly #file: LogFile;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #idle = new Set<() => void>();
  #waiting: string[] = [];
  #waitingBytes = 0;
  #part: Part | null = null;
  /** Waits before it tries again, for room or for the reader. */
  #paused: 'failing' | 'busy' | null = null;
  #dropped = 0;
  /** The last line in the file has no end. */
  #torn = false;

  constructor(file: LogFile, clock: Pick<Clock, 'now' | 'after'> = systemClock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Lines dropped and not yet said. */
  get droppedLines(): number {
    return this.#dropped;
  }

  /** One line with its end. Never throws, never waits. */
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

  /** Resolves when all is written, or nothing can be, or after so long. */
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

  /** For the very end of a process: one try at what still waits. */
  writeRest(): void {
    if (this.#part === null) this.#part = this.#next();
    if (this.#part === null) return;
    try {
      this.#file.writeSync(Buffer.concat([this.#part.bytes.subarray(this.#part.written), ...this.#rest()]));
    } catch {
      // The process ends: there is no later at which it could be said.
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

  /** What was dropped is said before the lines that came after it. */
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
    // A line that lacks its end only is there: the next one begins with it.
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

/** Standard error of this process; all that log to it share one, so that their lines do not tear each other. */
export function standardErrorLog(): LogOutput {
  if (shared !== null) return shared;
  if (isPipe(STANDARD_ERROR)) {
    // Opening it as a stream makes writes that a full pipe cannot take fail with EAGAIN; they would block a thread else.
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
    // It is closed: every write will say so.
    return false;
  }
}
