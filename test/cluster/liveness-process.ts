import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('liveness-program.ts', import.meta.url));

export interface LivenessProcess {
  readonly port: number;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** kill -9. */
  kill(): Promise<void>;
}

/** Starts `liveness-program.ts`; port 0 is any. */
export async function startLivenessProcess(node: string, incarnation: string, port = 0): Promise<LivenessProcess> {
  const child = fork(PROGRAM, [node, incarnation, String(port)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [chosen] = await Promise.race([once(child, 'message'), failedToStart(child)]);
  if (typeof chosen !== 'number') throw new Error(`the liveness process sent ${String(chosen)} instead of its port`);
  return {
    port: chosen,
    signal: (name) => void child.kill(name),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function failedToStart(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the liveness process ended with ${String(code)} before it sent its port`);
}
