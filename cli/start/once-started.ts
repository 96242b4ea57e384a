import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KeptScript } from './kept-script.ts';

/** By then the objects of the start are garbage. */
const AFTER_START_MS = 1_000;
const LOOK_AGAIN_MS = 1_000;
/** Share of the last second in which the thread of a calm node had work. */
const CALM = 0.2;

/** Work of a process for its later use of memory and for the next start, from a second after a node has started. */
export function onceStarted({ keep, keepAtExit }: Pick<KeptScript, 'keep' | 'keepAtExit'>): void {
  let before = performance.eventLoopUtilization();
  const settleOnceCalm = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization < CALM) settleMemory();
    else setTimeout(settleOnceCalm, LOOK_AGAIN_MS).unref();
  };
  const timer = setTimeout(() => {
    keep();
    settleOnceCalm();
    keepAtExit();
  }, AFTER_START_MS);
  timer.unref();
}

/**
 * One full garbage collection soon after the start. Starting fills the young generation, which V8 would keep at that size
 * while the node is idle: measured, an idle node holds 126 MB instead of 167 MB. It takes about 130 ms, once, and does not
 * change throughput. All actors of the node wait for it, so a node that has got its work at once does it later.
 */
function settleMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect({ flavor: 'last-resort' });
  // Compiled code that is kept later is of use only to starts with the same options.
  setFlagsFromString('--no-expose-gc');
}
