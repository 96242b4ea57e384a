import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { builtProgram } from '../support/built-programs.ts';

export const SVC_SOURCE = join(import.meta.dirname, '..', '..', 'cli', 'svc.ts');
const RUN_TIMEOUT_MS = 30_000;

export interface SvcResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `svc` as a person runs it, in a process of its own. */
export class SvcRun {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}, entry: string = builtProgram(SVC_SOURCE)) {
    this.child = spawn(process.execPath, [entry, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1', ...env },
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    this.child.stdout.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    // A program that ends before it has read its input is not this test's fault.
    this.child.stdin.on('error', () => undefined);
  }

  async end(): Promise<SvcResult> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'close');
    return { code: this.child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Runs one command line to its end. */
export async function svc(args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<SvcResult> {
  const run = new SvcRun(args, env);
  run.child.stdin.end(input);
  return run.end();
}
