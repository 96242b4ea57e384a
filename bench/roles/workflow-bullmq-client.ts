import { type FlowJob, FlowProducer, QueueEvents } from 'bullmq';
import { closedLoop, type LoadPlan } from '../load.ts';
import { roleOptions, serveRole } from '../role.ts';
import { STEPS } from '../workflows/five-steps.ts';

const { port } = roleOptions<{ port: number }>();
const connection = { host: '127.0.0.1', port };
const flows = new FlowProducer({ connection });
const events = new QueueEvents('steps', { connection });
// Each job that is waited for listens to both.
for (const emitter of [flows, events]) emitter.setMaxListeners(0);
await Promise.all([flows.waitUntilReady(), events.waitUntilReady()]);
// An event written before the first read is missed for good; a moment lets that read begin.
await new Promise((resolve) => setTimeout(resolve, 500));

/** The last step is the outermost job, the first one the innermost child. */
function flow(steps: number): FlowJob {
  const opts = { removeOnComplete: 1_000, removeOnFail: 1_000 };
  const job = { name: `step ${steps}`, queueName: 'steps', data: {}, opts };
  return steps === 1 ? job : { ...job, children: [flow(steps - 1)] };
}

serveRole(
  (plan: LoadPlan) =>
    closedLoop(plan, async () => {
      const { job } = await flows.add(flow(STEPS));
      await job.waitUntilFinished(events, 60_000);
    }),
  async () => {
    await Promise.all([flows.close(), events.close()]);
  },
);
