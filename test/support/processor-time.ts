/**
 * Processor time of this thread while `work` runs, ms. A test that bounds what hostile input costs measures this: on a busy
 * machine the time of a clock is up to thirty times as long.
 */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
