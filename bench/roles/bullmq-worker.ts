import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { roleOptions, serveRole } from '../role.ts';

/** Request and reply over BullMQ: a job increments a counter, and its return value is the answer. */
const { url } = roleOptions<{ url: string }>();
const { hostname, port } = new URL(url);
const state = new Redis(url, { enableAutoPipelining: true });
const worker = new Worker(
  'counter',
  async (job: { data: { key: string } }) => state.hincrby('bullmq:state', job.data.key, 1),
  {
    connection: { host: hostname, port: Number(port) },
    concurrency: 64,
  },
);
await worker.waitUntilReady();
serveRole(
  async () => ({}),
  async () => {
    await worker.close();
    state.disconnect();
  },
);
