import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { shortLived } from './built-programs.ts';
import { COMPILED } from './program-options.ts';

const LOG_CHARS = 60_000;

interface ChildProgramParts<Ready> {
  readonly name: string;
  /** Of Node.js: its own options, the program, the program's arguments. */
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** A descriptor that standard error goes to instead of `log`. */
  readonly stderr?: number | 'pipe';
  /** User that runs it. Default: the user of the tests. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Reads from a line of standard output where it serves; null for any other line. */
  readonly readyIn: (line: string) => Ready | null;
  /** A start takes a second or two alone, and many times that beside other work on two processors. */
  readonly startTimeoutMs: number;
}

/**
 * A program of the product in a process of its own. A test starts, stops, kills, freezes and thaws it as often as it
 * needs. It ends with the test process.
 */
export class ChildProgram<Ready> {
  readonly name: string;
  readonly #parts: ChildProgramParts<Ready>;
  #child: ChildProcess | null = null;
  #ready: Promise<Ready>;
  #log = '';
  #output = '';
  #isFrozen = false;
  readonly #reap = (): void => {
    this.#child?.kill('SIGKILL');
  };

  constructor(parts: ChildProgramParts<Ready>) {
    this.name = parts.name;
    this.#parts = parts;
    this.#ready = Promise.reject(new Error(`${parts.name} was not started`));
    this.#ready.catch(() => {});
  }

  /** Spawns it; does not wait until it serves. */
  spawn(): void {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const { args, env, stderr = 'pipe', user } = this.#parts;
    // Settings of the machine must not reach a test's node.
    const { PATH, HOME } = process.env;
    const child = spawn(process.execPath, shortLived(args), {
      env: { PATH, HOME, NODE_NO_WARNINGS: '1', ...COMPILED, ...env },
      stdio: ['ignore', 'pipe', stderr],
      ...user,
    });
    this.#child = child;
    this.#isFrozen = false;
    this.#output = '';
    process.off('exit', this.#reap).once('exit', this.#reap);
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-LOG_CHARS);
    });
    child.stderr?.on('data', (chunk: Buffer) => this.note(chunk.toString()));
    this.#ready = this.#untilReady(child);
    this.#ready.catch(() => {});
  }

  /** Where the current process serves, once it does. Rejects when the process ends before. */
  get ready(): Promise<Ready> {
    return this.#ready;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} was not started`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get isFrozen(): boolean {
    return this.#isFrozen && this.isRunning;
  }

  /** Whether it ended by itself, and not well: a program under test never does. */
  get crashed(): boolean {
    return this.#child !== null && this.#child.exitCode !== null && this.#child.exitCode !== 0;
  }

  /** Null while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** What the current process wrote to standard output. */
  get announced(): string {
    return this.#output;
  }

  /** The end of what all its processes wrote to standard error. */
  get log(): string {
    return this.#log;
  }

  /** kill -9; resolves when the process is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** SIGTERM; resolves when the process is gone. */
  async stop(): Promise<void> {
    await this.kill('SIGTERM');
    process.off('exit', this.#reap);
  }

  /** SIGSTOP: its connections stay open and nothing comes. */
  freeze(): void {
    this.signal('SIGSTOP');
    this.#isFrozen = true;
  }

  thaw(): void {
    this.signal('SIGCONT');
    this.#isFrozen = false;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child === null || !this.isRunning) throw new Error(`${this.name} does not run: no ${signal} for it`);
    this.#child.kill(signal);
  }

  /** Adds to the log. */
  protected note(text: string): void {
    this.#log = (this.#log + text).slice(-LOG_CHARS);
  }

  /** The current process, for subclasses. */
  protected get child(): ChildProcess | null {
    return this.#child;
  }

  async #untilReady(child: ChildProcess): Promise<Ready> {
    if (child.stdout === null) throw new Error('standard output is not piped');
    const { readyIn, startTimeoutMs } = this.#parts;
    const lines = createInterface({ input: child.stdout });
    const limit = AbortSignal.timeout(startTimeoutMs);
    const giveUp = (): void => lines.close();
    limit.addEventListener('abort', giveUp);
    for await (const line of lines) {
      const ready = readyIn(line);
      if (ready === null) continue;
      limit.removeEventListener('abort', giveUp);
      // What follows is of no use, but must be read for the process not to block.
      child.stdout.resume();
      return ready;
    }
    if (limit.aborted) {
      // Left running, it would hold its test's process open.
      child.kill('SIGKILL');
      throw new Error(`${this.name} did not listen within ${startTimeoutMs} ms: ${this.#log.slice(-2_000)}`);
    }
    // Its output ends a moment before the process does.
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const how = child.exitCode ?? child.signalCode;
    throw new Error(`${this.name} ended before it listened (${how}): ${this.#log.slice(-2_000)}`);
  }
}
