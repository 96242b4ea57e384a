import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import { isListening, ServerProcess } from '../../test/support/server-process.ts';
import type { LoadPlan, Measured } from '../load.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WorkflowPeer } from './peer.ts';
import type { TemporalPackages } from './temporal-packages.ts';

/** By default the development server looks into its queues a few times a second only. */
const LIMITS = [
  'history.transferProcessorMaxPollRPS=10000',
  'history.timerProcessorMaxPollRPS=10000',
  'history.transferProcessorMaxPollHostRPS=10000',
  'history.timerProcessorMaxPollHostRPS=10000',
];

/** Temporal's development server with a database file, a worker with local activities as steps. */
export async function startTemporal(packages: TemporalPackages): Promise<WorkflowPeer> {
  const server = await startServer(packages.cli);
  const options = { packages: packages.folder, address: server.address };
  const worker = await startRole('workflow-temporal-worker', options);
  const client: RoleProcess<LoadPlan, Measured> = await startRole('workflow-temporal-client', options);
  return {
    measure: (plan) => client.ask(plan),
    async stop() {
      await client.kill();
      await worker.kill();
      await server.stop();
    },
  };
}

async function startServer(cli: string) {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-temporal-'));
  const [port, metrics] = [await freePort(), await freePort()];
  const places = ['--ip', '127.0.0.1', '--port', `${port}`, '--metrics-port', `${metrics}`, '--headless'];
  const limits = LIMITS.flatMap((limit) => ['--dynamic-config-value', limit]);
  const args = ['server', 'start-dev', ...places, '--db-filename', join(directory, 'db'), ...limits];
  const env = { PATH: process.env.PATH, HOME: directory, DO_NOT_TRACK: '1', TEMPORAL_CLI_DISABLE_UPDATE_CHECK: '1' };
  const server = new ServerProcess('Temporal', cli, [...args, '--log-level', 'never'], { env, stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    await server.end();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await server.serves(() => isListening(port));
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `127.0.0.1:${port}`, stop };
}
