import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Address } from '../../runtime/address.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { Json } from '../../runtime/json.ts';
import type { StoreLocation } from '../../runtime/open-stores.ts';
import { builtProgram } from './built-programs.ts';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

const PROGRAM = join(import.meta.dirname, 'kill-node.ts');

/** The test's end of a `kill-node.ts`, or of another program that speaks as it does. */
export class KillNodeHandle {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #calls = 0;

  /** Resolves when it serves. */
  static async start(
    location: Omit<StoreLocation, 'warn'>,
    program: { readonly path: string; readonly args: readonly string[] } = { path: PROGRAM, args: [] },
  ): Promise<KillNodeHandle> {
    const child = fork(builtProgram(program.path), [JSON.stringify(location), ...program.args], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const node = new KillNodeHandle(child);
    await node.#answer(0);
    return node;
  }

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => this.#waiting.get(answer.id)?.(answer));
    child.once('exit', (code, signal) => {
      for (const [id, take] of this.#waiting) take({ id, error: `the node ended with ${signal ?? code}` });
    });
  }

  async tell(to: Address, type: string, payload: Json): Promise<void> {
    await this.#call({ verb: 'tell', to, type, payload });
  }

  ask(to: Address, type: string, payload: Json): Promise<unknown> {
    return this.#call({ verb: 'ask', to, type, payload });
  }

  async read(to: Address): Promise<Pick<ActorSnapshot, 'stuck' | 'state'> | null> {
    const value = await this.#call({ verb: 'read', to });
    if (typeof value !== 'object' || value === null || !('stuck' in value) || !('state' in value)) return null;
    const { stuck, state } = value;
    if (typeof stuck !== 'object' || stuck === null || !('attempts' in stuck)) return { state, stuck: null };
    return { state, stuck: { messageType: '', error: '', attempts: Number(stuck.attempts) } };
  }

  /** SIGKILL, or SIGTERM for an end in order. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }

  #call(call: object): Promise<unknown> {
    this.#calls += 1;
    const id = this.#calls;
    const answer = this.#answer(id);
    this.#child.send({ id, ...call });
    return answer;
  }

  #answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ value, error }) => {
        this.#waiting.delete(id);
        if (error === undefined) resolve(value);
        else reject(new Error(error));
      });
    });
  }
}
