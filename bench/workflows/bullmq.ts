import { startRedis } from '../../test/support/redis.ts';
import type { LoadPlan, Measured } from '../load.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WorkflowPeer } from './peer.ts';

/** A BullMQ flow: a chain of five jobs, each the child of the next. */
export async function startBullmq(appendfsync: 'always' | 'everysec'): Promise<WorkflowPeer> {
  const redis = await startRedis({ appendfsync });
  const worker = await startRole('workflow-bullmq-worker', { port: redis.port });
  const client: RoleProcess<LoadPlan, Measured> = await startRole('workflow-bullmq-client', { port: redis.port });
  return {
    measure: (plan) => client.ask(plan),
    async stop() {
      await client.kill();
      await worker.kill();
      await redis.stop();
    },
  };
}
