import { z } from 'zod';
import { ChildProgram } from '../child-program.ts';
import { waitUntil } from '../wait-until.ts';
import type { Guard } from './guard.ts';

/** The line a process of the fleet prints once it serves. */
const ReadyLine = z.object({
  /** Base URL of its control endpoint. */
  control: z.url(),
  /** Base URL of REST, where it has one. */
  rest: z.url().nullable(),
});
type ReadyLine = z.infer<typeof ReadyLine>;

const ControlAnswer = z.object({ value: z.json() });

const STOP_LIMIT_MS = 30_000;

interface FleetProcessParts {
  readonly name: string;
  readonly program: URL;
  readonly options: object;
  readonly nodeArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly guard: Guard;
}

/** A process of a cluster, whose guard ends it when the test process dies, frozen or not. */
export class FleetProcess extends ChildProgram<ReadyLine> {
  readonly #guard: Guard;
  #isEnding = false;
  #lives = 0;

  constructor({ name, program, options, nodeArgs = [], env = {}, guard }: FleetProcessParts) {
    super({
      name,
      args: [...nodeArgs, program.pathname, JSON.stringify(options)],
      env,
      readyIn: (line) => (line.startsWith('{"control"') ? ReadyLine.parse(JSON.parse(line)) : null),
      startTimeoutMs: 120_000,
    });
    this.#guard = guard;
  }

  override spawn(): void {
    super.spawn();
    this.#isEnding = false;
    this.#lives += 1;
    const { child, pid } = this;
    const life = this.#lives;
    this.#guard.watch(pid);
    child?.once('exit', (code, signal) => {
      this.#guard.forget(pid);
      this.note(`-- life ${life} ended: ${signal ?? code}\n`);
    });
    this.note(`-- life ${life}, pid ${pid}\n`);
  }

  /** It ended although the test did not end it. */
  get hasCrashed(): boolean {
    return this.child !== null && !this.isRunning && !this.#isEnding;
  }

  override async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.isRunning) this.#isEnding = true;
    await super.kill(signal);
  }

  /** SIGTERM; resolves when it is gone. It is killed when that takes long, which is an error. */
  override async stop(): Promise<void> {
    const ended = this.kill('SIGTERM');
    try {
      await waitUntil(`${this.name} to end after SIGTERM`, () => !this.isRunning, STOP_LIMIT_MS);
    } catch (error) {
      await this.kill();
      throw error;
    }
    await ended;
  }

  /** GET of its control endpoint. Rejects when it does not answer in time. */
  async get(path: string, limitMs: number): Promise<unknown> {
    const { control } = await this.ready;
    const response = await fetch(`${control}${path}`, { signal: AbortSignal.timeout(limitMs) });
    return ControlAnswer.parse(await response.json()).value;
  }
}
