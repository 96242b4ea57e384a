import type { ContainerEngine } from '../containers/engine.ts';
import { startExec } from './container-exec.ts';

/**
 * Ends what a run left in the container: its process group ($1, `-`: unknown), then all that carry its mark ($2) in their
 * environment, until none is found. The mark is an argument here, so it finds nothing of itself.
 */
const SCRIPT = `
if [ "$1" != - ]; then
  kill -s TERM -- "-$1" 2>/dev/null || kill -s TERM "$1" 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -s 0 -- "-$1" 2>/dev/null || break
    sleep 0.1 2>/dev/null || sleep 1
  done
  kill -s KILL -- "-$1" 2>/dev/null
  kill -s KILL "$1" 2>/dev/null
fi
for _ in 1 2 3 4 5; do
  found=
  for file in /proc/[0-9]*/environ; do
    grep -q "$2" "$file" 2>/dev/null || continue
    pid=\${file#/proc/}
    kill -s KILL "\${pid%/environ}" 2>/dev/null && found=1
  done
  [ -n "$found" ] || break
done
:
`;

const WITHIN_MS = 15_000;

export interface EndRequest {
  /** Null: not known. */
  readonly pid: string | null;
  readonly mark: string;
  readonly stopped: boolean;
  /** Time limit. */
  readonly withinMs?: number;
}

/** TERM, a second later KILL, for a run that was stopped; what an ended one left in the background is killed at once. */
export async function endInContainer(
  engine: ContainerEngine,
  containerId: string,
  { pid, mark, stopped, withinMs = WITHIN_MS }: EndRequest,
): Promise<void> {
  // Of an ended run the process id may be another's by now; the mark is not.
  const group = stopped && pid !== null ? pid : '-';
  const command = ['/bin/sh', '-c', SCRIPT, 'svc-end', group, mark];
  const signal = AbortSignal.timeout(withinMs);
  try {
    const { stream } = await startExec(engine, containerId, command, { directory: '/', signal });
    const stop = (): void => void stream.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      for await (const _ of stream) signal.throwIfAborted();
    } finally {
      signal.removeEventListener('abort', stop);
    }
  } catch {
    // A container that is gone has no processes; one that does not answer ends with its iteration.
  }
}
