import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { builtProgram } from '../support/built-programs.ts';

export const SVC_SOURCE = join(import.meta.dirname, '..', '..', 'cli', 'svc.ts');
const RUN_TIMEOUT_MS = 120_000;

export interface SvcResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `svc` in its own process, as started by a user. */
export class SvcRun {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';
  /** After its exit, when its last output has been read. */
  readonly #closed: Promise<void>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}, entry: string = builtProgram(SVC_SOURCE)) {
    this.child = spawn(process.execPath, [entry, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1', ...env },
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    this.#closed = new Promise((resolve) => this.child.once('close', () => resolve()));
    this.child.stdout.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    // A program may end before it has read its input.
    this.child.stdin.on('error', () => undefined);
  }

  async end(): Promise<SvcResult> {
    await this.#closed;
    return { code: this.child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Runs one command line to its end. */
export async function svc(args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<SvcResult> {
  const run = new SvcRun(args, env);
  run.child.stdin.end(input);
  return run.end();
}
