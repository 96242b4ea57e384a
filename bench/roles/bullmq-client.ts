import { Queue, QueueEvents } from 'bullmq';
import { KEYS, PAYLOAD } from '../counter.ts';
import { closedLoop, type LoadPlan } from '../load.ts';
import { roleOptions, serveRole } from '../role.ts';

const { url } = roleOptions<{ url: string }>();
const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port) };
const queue = new Queue('counter', { connection });
const events = new QueueEvents('counter', { connection });
await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
// An event written before the first read is missed for good; a moment lets that read begin.
await new Promise((resolve) => setTimeout(resolve, 500));

serveRole(
  (plan: LoadPlan) =>
    closedLoop(plan, async (index) => {
      const data = { key: `${index % KEYS}`, payload: PAYLOAD };
      const job = await queue.add('add', data, { removeOnComplete: 1_000, removeOnFail: 1_000 });
      await job.waitUntilFinished(events, 60_000);
    }),
  async () => {
    await Promise.all([queue.close(), events.close()]);
  },
);
