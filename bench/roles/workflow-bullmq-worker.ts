import { Worker } from 'bullmq';
import { roleOptions, serveRole } from '../role.ts';

/** Each step is a job of its own; a job becomes due when its child has ended. */
const { port } = roleOptions<{ port: number }>();
const worker = new Worker('steps', async () => 1, { connection: { host: '127.0.0.1', port }, concurrency: 64 });
await worker.waitUntilReady();
serveRole(
  async () => ({}),
  () => worker.close(),
);
