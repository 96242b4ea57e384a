import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import type { LoadPlan, Measured } from '../load.ts';
import { npmPackages } from '../npm-packages.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WorkflowPeer } from './peer.ts';
import { startPostgres } from './postgres-server.ts';

const SDK = '5.3.0';

export interface DbosPackages {
  readonly folder: string;
  readonly versions: string;
}

/** Rejects when npm cannot have the SDK or this machine has no PostgreSQL. */
export async function dbosPackages(): Promise<DbosPackages> {
  const folder = await npmPackages(`dbos-${SDK}`, [`@dbos-inc/dbos-sdk@${SDK}`]);
  const postgres = await startPostgres();
  await postgres.stop();
  return { folder, versions: `SDK ${SDK}, ${postgres.version}` };
}

/** A DBOS workflow with one `runStep` a step, behind an HTTP server in its process (its own queue polls once a second). */
export async function startDbos(packages: DbosPackages): Promise<WorkflowPeer> {
  const postgres = await startPostgres();
  const port = await freePort();
  const worker = await startRole('workflow-dbos-worker', { packages: packages.folder, url: postgres.url, port });
  const door = { origin: `http://127.0.0.1:${port}`, path: '/{id}' };
  const client: RoleProcess<LoadPlan, Measured> = await startRole('workflow-http-client', door);
  return {
    measure: (plan) => client.ask(plan),
    async stop() {
      await client.kill();
      await worker.kill();
      await postgres.stop();
    },
  };
}
