import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import type { RestatePackages } from '../failover/restate-packages.ts';
import { startRestateServer } from '../failover/restate-server.ts';
import type { LoadPlan, Measured } from '../load.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WorkflowPeer } from './peer.ts';

/** A Restate workflow with one `ctx.run` a step, called through the ingress. */
export async function startRestate(packages: RestatePackages): Promise<WorkflowPeer> {
  const server = await startRestateServer(packages.server, {});
  const port = await freePort();
  const worker = await startRole('workflow-restate-worker', { packages: packages.folder, port });
  const answer = await fetch(`${server.admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  });
  if (!answer.ok) throw new Error(`Restate does not take the worker: ${await answer.text()}`);
  const door = { origin: server.ingress, path: '/no-ops/{id}/run' };
  const client: RoleProcess<LoadPlan, Measured> = await startRole('workflow-http-client', door);
  return {
    measure: (plan) => client.ask(plan),
    async stop() {
      await client.kill();
      await worker.kill();
      await server.stop();
    },
  };
}
