import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { connectClient } from '../../runtime/runtime.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import {
  createWorkflowApi,
  WORKFLOW_EXECUTIONS,
  type WorkflowExecutionDocument,
} from '../../usecases/workflow-runs.ts';
import { closedLoop, type LoadPlan } from '../load.ts';
import { serveProfiled } from '../profile.ts';
import { roleOptions } from '../role.ts';
import { benchedActor, fiveSteps, type Steps } from '../workflows/five-steps.ts';
import { runWorkflow } from '../workflows/run-workflow.ts';

const { url, directory, steps } = roleOptions<{ url: string; directory: string; steps: Steps }>();
const store = new RedisActorStore({ urls: url });
const documents = new SqliteDocuments({ directory });
const blobs = new FileBlobs({ directory });
await Promise.all([store.open(), documents.open(), blobs.open()]);
const client = await connectClient({
  ...{ store, documents, blobs },
  definitions: [benchedActor(steps)],
  settings: { partitions: 256 },
  warn: (message, error) => console.error(message, error),
});
const workflows = createWorkflowApi({
  client,
  executions: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
  approvals: {
    async answer() {
      throw new Error('nothing waits for a human here');
    },
    async ensureListed() {},
  },
});
const manifest = fiveSteps(steps);

await serveProfiled(
  (plan: LoadPlan) => closedLoop(plan, () => runWorkflow(workflows, manifest)),
  async () => {
    client.close();
    await Promise.all([store.close(), documents.close(), blobs.close()]);
  },
);
