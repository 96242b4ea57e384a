import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import type { BullmqSettings } from '../failover/bullmq.ts';
import { roleOptions, serveRole } from '../role.ts';

interface Run {
  readonly steps: number;
  readonly stepMs: number;
  readonly trail: string;
  readonly done: number;
}

/** Executes a run step by step and keeps its progress in the job: BullMQ's "process step jobs" pattern. */
const { port, settings } = roleOptions<{ port: number; settings: BullmqSettings }>();
const worker = new Worker(
  'failover',
  async (job: Job<Run>) => {
    for (let { done } = job.data; done < job.data.steps; done += 1) {
      await appendFile(job.data.trail, `${job.id} ${done} ${job.attemptsStarted}\n`);
      await pause(job.data.stepMs);
      await job.updateData({ ...job.data, done: done + 1 });
    }
  },
  { connection: { host: '127.0.0.1', port }, ...settings },
);
worker.on('error', console.error);
await worker.waitUntilReady();
serveRole(
  async () => ({}),
  () => worker.close(),
);
