import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitUntil } from './wait-until.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
/** Compiled modules, so that a node is up in half the time: tests start hundreds. */
const COMPILED = join(import.meta.dirname, '..', '..', '.cache', 'compiled');
/** A node is up in a second or two; beside everything that two processors can do at once it takes many times that. */
const START_TIMEOUT_MS = 60_000;
const LOG_CHARS = 20_000;

/**
 * A node as a person starts it: `node main.ts …` in a process of its own, on free loopback ports, killed with -9 and
 * started again as often as a test likes. Ends with the test process.
 */
export class NodeProcess {
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #stderr: number | 'pipe';
  readonly #main: string;
  #child: ChildProcess | null = null;
  #url: Promise<string> = Promise.reject(new Error('the node was not started'));
  #log = '';
  #output = '';
  readonly #reap = (): void => {
    this.#child?.kill('SIGKILL');
  };

  /**
   * `args` beside the ports, such as `--data DIR`. A descriptor as `stderr` is where the log goes instead of `log`; `main`
   * is that of another version of the product.
   */
  constructor(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    stderr: number | 'pipe' = 'pipe',
    main: string = MAIN,
  ) {
    this.#args = args;
    this.#stderr = stderr;
    this.#main = main;
    // Settings of the machine must not reach a test's node.
    this.#env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_NO_WARNINGS: '1',
      NODE_COMPILE_CACHE: COMPILED,
      ...env,
    };
    this.#url.catch(() => {});
    process.once('exit', this.#reap);
  }

  /** Spawns it; does not wait until it answers. */
  spawn(): void {
    const args = [this.#main, '--http-port', '0', '--grpc-port', '0', ...this.#args];
    const child = spawn(process.execPath, args, { env: this.#env, stdio: ['ignore', 'pipe', this.#stderr] });
    this.#child = child;
    this.#output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-LOG_CHARS);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-LOG_CHARS);
    });
    this.#url = this.#listening(child);
    this.#url.catch(() => {});
  }

  /** Base URL of REST once the node of this moment listens. Rejects when it ends before. */
  get url(): Promise<string> {
    return this.#url;
  }

  /** `host:port` of SvcRuntime once the node of this moment says it. */
  get grpcAddress(): Promise<string> {
    const said = () => /^SvcRuntime\s+(\S+)$/m.exec(this.#output)?.[1];
    return this.#url.then(() => waitUntil('the node says where gRPC is', said));
  }

  /** Base URL and gRPC `host:port` of the internal address, for agents' programs. */
  get internal(): Promise<{ readonly url: string; readonly grpcAddress: string }> {
    const said = () => {
      const [, url, grpcAddress] = /^internal\s+(\S+)\s+(\S+)/m.exec(this.#output) ?? [];
      return url === undefined || grpcAddress === undefined ? null : { url, grpcAddress };
    };
    return this.#url.then(() => waitUntil('the node says where its internal address is', said));
  }

  /** `host:port` of NodeClusterService, of a node that has it. */
  get clusterAddress(): Promise<string> {
    const said = () => /^NodeCluster\s+(\S+)$/m.exec(this.#output)?.[1];
    return this.#url.then(() => waitUntil('the node says where NodeClusterService is', said));
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the node was not started');
    return pid;
  }

  /** What the node of this moment announced on standard output. */
  get announced(): string {
    return this.#output;
  }

  /** The end of what the nodes so far wrote to standard error. */
  get log(): string {
    return this.#log;
  }

  /** kill -9; resolves when the process is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    await this.kill('SIGTERM');
    process.off('exit', this.#reap);
  }

  /** Whether it ended by itself: a node under test never does. */
  get crashed(): boolean {
    return this.#child !== null && this.#child.exitCode !== null && this.#child.exitCode !== 0;
  }

  /** Null while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  async #listening(child: ChildProcess): Promise<string> {
    if (child.stdout === null) throw new Error('standard output is not piped');
    const lines = createInterface({ input: child.stdout });
    const limit = AbortSignal.timeout(START_TIMEOUT_MS);
    const giveUp = (): void => lines.close();
    limit.addEventListener('abort', giveUp);
    for await (const line of lines) {
      const url = /^REST\s+(\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      limit.removeEventListener('abort', giveUp);
      // What follows is of no use, but must be read for the process not to block.
      child.stdout.resume();
      return url;
    }
    if (limit.aborted) {
      // Whoever waited has nothing to end it by; left running, it would hold its test's process open.
      child.kill('SIGKILL');
      throw new Error(`the node did not listen within ${START_TIMEOUT_MS} ms: ${this.#log}`);
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    throw new Error(`the node ended before it listened (${child.exitCode ?? child.signalCode}): ${this.#log}`);
  }
}
