import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../../test/support/redis.ts';
import {
  createWorkflowApi,
  WORKFLOW_EXECUTIONS,
  type WorkflowExecutionDocument,
} from '../../usecases/workflow-runs.ts';
import { CostMeter } from '../costs.ts';
import { startEmbedded } from '../embedded.ts';
import { closedLoop, type LoadPlan, type Measured } from '../load.ts';
import { type RoleProcess, startRole } from '../role.ts';
import { benchedActor, fiveSteps, noOpCommand, type Steps } from './five-steps.ts';
import type { WorkflowPeer } from './peer.ts';
import { runWorkflow } from './run-workflow.ts';

/**
 * Where the worker's documents are. With a node on Redis documents are in MongoDB, whose fsyncs block no event loop of the node;
 * SQLite in memory replaces it, since it has no fsyncs there.
 */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** The product on Redis: worker and client are processes of their own, effects go through BullMQ. */
export async function startOurs(appendfsync: 'always' | 'everysec', steps: Steps): Promise<WorkflowPeer> {
  const directory = await mkdtemp(join(MEMORY, 'svc-bench-'));
  const redis = await startRedis({ appendfsync });
  const options = { url: redis.url, directory, steps };
  const worker = await startRole('workflow-ours-worker', options);
  const client: RoleProcess<LoadPlan, Measured> = await startRole('workflow-ours-client', options);
  const meter = new CostMeter([redis], [worker], client);
  return {
    measure: (plan) => client.ask(plan),
    meter,
    async stop() {
      meter.close();
      await client.stop();
      await worker.stop();
      await redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The product on its embedded store in one process, as `npm start` runs it. */
export async function startOursEmbedded(steps: Steps): Promise<WorkflowPeer> {
  const node = await startEmbedded([benchedActor(steps)], [noOpCommand], { effectConcurrency: 256 });
  const workflows = createWorkflowApi({
    client: node.runtime.client,
    executions: await node.ports.documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
    approvals: {
      async answer() {
        throw new Error('nothing waits for a human here');
      },
      async ensureListed() {},
    },
  });
  const manifest = fiveSteps(steps);
  return {
    measure: (plan) => closedLoop(plan, () => runWorkflow(workflows, manifest)),
    stop: () => node.stop(),
  };
}
