import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { waitUntil } from '../wait-until.ts';
import type { Guard } from './guard.ts';

/** The line a process of the fleet prints once it serves. */
export const ReadyLine = z.object({
  /** Base URL of its control endpoint. */
  control: z.url(),
  /** Base URL of REST, where it has one. */
  rest: z.url().nullable(),
});
export type ReadyLine = z.infer<typeof ReadyLine>;

const ControlAnswer = z.object({ value: z.json() });

/** Compiled modules, so that a process is up in half the time. */
const COMPILED = new URL('../../../.cache/compiled', import.meta.url).pathname;
const START_TIMEOUT_MS = 40_000;
const LOG_CHARS = 60_000;

export interface FleetProcessParts {
  readonly name: string;
  readonly program: URL;
  readonly options: object;
  readonly nodeArgs?: readonly string[];
  readonly guard: Guard;
}

/** A process of a cluster over all its lives: started, stopped, killed, frozen, thawed, by pid. */
export class FleetProcess {
  readonly name: string;
  readonly #parts: FleetProcessParts;
  #child: ChildProcess | null = null;
  #ready: Promise<ReadyLine> = Promise.reject(new Error('it was not started'));
  #log = '';
  #isFrozen = false;
  #isEnding = false;
  #lives = 0;

  constructor(parts: FleetProcessParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#ready.catch(() => {});
  }

  /** Spawns it; does not wait until it serves. */
  spawn(): void {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const { program, options, guard, nodeArgs = [] } = this.#parts;
    const child = spawn(process.execPath, [...nodeArgs, program.pathname, JSON.stringify(options)], {
      // Settings of the machine must not reach a test's node.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: COMPILED },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#isFrozen = false;
    this.#isEnding = false;
    this.#lives += 1;
    if (child.pid !== undefined) guard.watch(child.pid);
    child.once('exit', (code, signal) => {
      if (child.pid !== undefined) guard.forget(child.pid);
      this.#note(`-- life ${this.#lives} ended: ${signal ?? code}`);
    });
    this.#note(`-- life ${this.#lives}, pid ${child.pid}`);
    child.stderr?.on('data', (chunk: Buffer) => this.#note(chunk.toString().trimEnd()));
    this.#ready = this.#readyLine(child);
    this.#ready.catch(() => {});
  }

  /** Rejects when it ends before it serves. */
  get ready(): Promise<ReadyLine> {
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

  /** It ended although no verb asked for it: a process under test never does. */
  get hasCrashed(): boolean {
    return this.#child !== null && !this.isRunning && !this.#isEnding;
  }

  /** The end of what all its lives wrote to standard error. */
  get log(): string {
    return this.#log;
  }

  /** SIGTERM; resolves when it is gone. It is killed when that takes longer than `limitMs`, which is an error. */
  async stop(limitMs = 30_000): Promise<void> {
    if (!this.isRunning) return;
    this.signal('SIGTERM');
    this.#isEnding = true;
    await waitUntil(`${this.name} to end after SIGTERM`, () => !this.isRunning, limitMs).catch(
      async (error: unknown) => {
        await this.kill();
        throw error;
      },
    );
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#isEnding = true;
    this.signal('SIGKILL');
    await waitUntil(`${this.name} to be gone after SIGKILL`, () => !this.isRunning);
  }

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

  /** GET of its control endpoint. Rejects when it does not answer in time. */
  async get(path: string, limitMs: number): Promise<unknown> {
    const { control } = await this.#ready;
    const response = await fetch(`${control}${path}`, { signal: AbortSignal.timeout(limitMs) });
    return ControlAnswer.parse(await response.json()).value;
  }

  #note(text: string): void {
    this.#log = `${this.#log}${text}\n`.slice(-LOG_CHARS);
  }

  async #readyLine(child: ChildProcess): Promise<ReadyLine> {
    if (child.stdout === null) throw new Error('standard output is not piped');
    const lines = createInterface({ input: child.stdout });
    const limit = AbortSignal.timeout(START_TIMEOUT_MS);
    const giveUp = (): void => lines.close();
    limit.addEventListener('abort', giveUp);
    for await (const line of lines) {
      if (!line.startsWith('{"control"')) continue;
      limit.removeEventListener('abort', giveUp);
      // What follows is of no use, but must be read for the process not to block.
      child.stdout.resume();
      return ReadyLine.parse(JSON.parse(line));
    }
    // Its output ends a moment before the process does.
    if (!limit.aborted) await waitUntil(`${this.name} to be gone`, () => !this.isRunning);
    const why = limit.aborted ? `did not serve within ${START_TIMEOUT_MS} ms` : 'ended before it served';
    throw new Error(`${this.name} ${why}:\n${this.#log.slice(-2_000)}`);
  }
}
