/**
 * Loaded into a node (`--import`) by the attack suite: while it is switched on, it measures the CPU time of each turn of the
 * event loop on the thread that serves requests, independent of other load. Other threads are not counted.
 */

interface Held {
  /** Longest CPU time of one turn of the loop, ms. */
  readonly longestMs: number;
  readonly totalMs: number;
  readonly rssBytes: number;
}

let isOn = false;
let longestMs = 0;
let totalMs = 0;
let before = 0;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function turn(): void {
  const now = cpuMs();
  longestMs = Math.max(longestMs, now - before);
  totalMs += now - before;
  before = now;
  // One turn after the other, so no turn is counted with the one before it.
  if (isOn) setImmediate(turn);
}

process.on('message', (asked: unknown) => {
  if (asked === 'begin') {
    [longestMs, totalMs, before, isOn] = [0, 0, cpuMs(), true];
    setImmediate(turn);
    process.send?.('begun');
  } else if (asked === 'end') {
    isOn = false;
    turn();
    const held: Held = { longestMs, totalMs, rssBytes: process.memoryUsage.rss() };
    process.send?.(held);
  } else if (asked === 'heap') {
    globalThis.gc?.();
    process.send?.({ heapBytes: process.memoryUsage().heapUsed });
  }
});
process.channel?.unref();
