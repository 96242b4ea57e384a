import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Ends a cluster's processes when the test process dies in any way, `kill -9` included: a frozen node cannot see that
 * its parent is gone, and one that lives on would hold leases and ports. A shell in a process group of its own reads
 * `+ PID` and `- PID`; when its standard input closes it kills what is left by pid and removes the directory.
 */
const SCRIPT = `pids=''
while read -r op pid; do
  case $op in
    +) pids="$pids $pid" ;;
    -) left=''; for p in $pids; do [ "$p" = "$pid" ] || left="$left $p"; done; pids=$left ;;
  esac
done
for p in $pids; do kill -9 "$p"; done
rm -rf "$1"`;

export class Guard {
  readonly #shell: ChildProcess;

  /** `directory` is removed in the end: it must be the cluster's own. */
  constructor(directory: string) {
    this.#shell = spawn('sh', ['-c', SCRIPT, 'guard', directory], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // The shell alone must not keep the test process alive, nor its end fail it.
    this.#shell.unref();
    this.#shell.stdin?.on('error', () => {});
  }

  watch(pid: number): void {
    this.#shell.stdin?.write(`+ ${pid}\n`);
  }

  /** It has ended: another process may get its pid. */
  forget(pid: number): void {
    this.#shell.stdin?.write(`- ${pid}\n`);
  }

  /** Kills what is left and removes the directory. */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#shell.once('exit', () => resolve()));
    this.#shell.ref();
    this.#shell.stdin?.end();
    await ended;
  }
}
