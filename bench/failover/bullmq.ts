import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import { startRedis } from '../../test/support/redis.ts';
import { startRole } from '../role.ts';
import { END_WITHIN_MS, type FailoverPeer, shareOf } from './peer.ts';
import { Workers } from './workers.ts';

/** Settings of a BullMQ worker; default: its own. */
export interface BullmqSettings {
  readonly concurrency?: number;
  readonly lockDuration?: number;
  readonly lockRenewTime?: number;
  readonly stalledInterval?: number;
  readonly maxStalledCount?: number;
}

/** One job a run; the job's data keeps how many of its steps are done. */
export async function startBullmq(
  appendfsync: 'always' | 'everysec',
  workers: number,
  settings: BullmqSettings,
): Promise<FailoverPeer> {
  const redis = await startRedis({ appendfsync });
  const connection = { host: '127.0.0.1', port: redis.port };
  const queue = new Queue('failover', { connection });
  const events = new QueueEvents('failover', { connection });
  // Each job that is waited for listens to both.
  for (const emitter of [queue, events]) emitter.setMaxListeners(0);
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  const started = await Workers.start(workers, () =>
    startRole('failover-bullmq', { port: redis.port, settings: { concurrency: shareOf(workers), ...settings } }),
  );
  return {
    async run({ runs, steps, stepMs }, trail) {
      const startedAt = performance.now();
      await Promise.all(
        Array.from({ length: runs }, async () => {
          const job = await queue.add('run', { steps, stepMs, trail, done: 0 }, { jobId: randomUUID() });
          await job.waitUntilFinished(events, END_WITHIN_MS);
        }),
      );
      return performance.now() - startedAt;
    },
    replace: (worker) => started.replace(worker),
    settle: async () => {},
    async stop() {
      await Promise.all([queue.close(), events.close(), started.stop()]);
      await redis.stop();
    },
  };
}
