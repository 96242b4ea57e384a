import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { waitUntil } from './wait-until.ts';

const LOG_CHARS = 4_000;

/** A server of another vendor, such as redis-server, in a process of its own, which ends with this process at the latest. */
export class ServerProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  #log = '';

  /** Starts it. The log of a piped standard error is in the errors of `serves`. */
  constructor(name: string, program: string, args: readonly string[], options: SpawnOptions = { stdio: 'ignore' }) {
    this.#name = name;
    this.#child = spawn(program, args, options);
    const reap = (): void => {
      this.#child.kill('SIGKILL');
    };
    process.once('exit', reap);
    this.#child.once('exit', () => process.off('exit', reap));
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-LOG_CHARS);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits until it serves. Rejects, and kills it, when it ends before or takes too long. */
  async serves(isServing: () => Promise<boolean>, withinMs?: number): Promise<void> {
    try {
      await waitUntil(
        `${this.#name} to serve`,
        () => {
          if (!this.isRunning) throw new Error(`it ended with ${this.#child.exitCode ?? this.#child.signalCode}`);
          return isServing();
        },
        withinMs,
      );
    } catch (error) {
      await this.end();
      throw new Error(`${this.#name} does not serve. ${this.#log}`, { cause: error });
    }
  }

  /** Sends the signal; resolves when the process is gone. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}

/** Whether a server accepts connections on this port of loopback. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
