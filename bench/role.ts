import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A process of a benchmark, driven over its IPC channel: one question, one answer. */
export interface RoleProcess<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  readonly pid: number;
  stop(): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts `bench/roles/NAME.ts` and waits until it says it is ready. */
export async function startRole<Question extends object, Answer>(
  name: string,
  options: Readonly<Record<string, unknown>>,
): Promise<RoleProcess<Question, Answer>> {
  const child = fork(new URL(`roles/${name}.ts`, import.meta.url), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${String(code)}`);
  });
  failed.catch(() => undefined);
  const answer = async (): Promise<Answer> => {
    const [message] = await Promise.race([once(child, 'message'), failed]);
    return message;
  };
  await answer();
  return {
    pid: child.pid ?? 0,
    async ask(question) {
      child.send(question);
      return answer();
    },
    async stop() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.send('stop');
      await ended;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** In the process of the role: options from the command line, a handler for each question. */
export function serveRole<Question, Answer>(
  handle: (question: Question) => Promise<Answer>,
  stop: () => Promise<void>,
): void {
  process.on('message', (message) => {
    const done =
      message === 'stop'
        ? stop().then(() => process.exit(0))
        : // The suite of this role declares the type; both sides are in this folder.
          handle(message as Question).then((answer) => process.send?.(answer ?? {}));
    done.catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // The process that drove it has ended.
  process.once('disconnect', () => process.exit(1));
  process.send?.({ ready: true });
}

export function roleOptions<T>(): T {
  const options: T = JSON.parse(process.argv[2] ?? '{}');
  return options;
}
