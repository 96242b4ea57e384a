import { randomUUID } from 'node:crypto';
import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import { startRole } from '../role.ts';
import { END_WITHIN_MS, type FailoverPeer } from './peer.ts';
import type { RestatePackages } from './restate-packages.ts';
import { startRestateServer } from './restate-server.ts';
import { Workers } from './workers.ts';

/** A workflow with one `ctx.run` a step; its server knows one worker, which is always at the same address. */
export async function startRestate(packages: RestatePackages, settings: NodeJS.ProcessEnv): Promise<FailoverPeer> {
  const server = await startRestateServer(packages.server, settings);
  const port = await freePort();
  const started = await Workers.start(1, () => startRole('failover-restate', { packages: packages.folder, port }));
  await post(`${server.admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
  return {
    async run({ runs, steps, stepMs }, trail) {
      const startedAt = performance.now();
      await Promise.all(
        Array.from({ length: runs }, async () => {
          const done = await post(`${server.ingress}/failover/${randomUUID()}/run`, { steps, stepMs, trail });
          if (done !== `${steps}`) throw new Error(`a workflow answered ${done} where ${steps} was due`);
        }),
      );
      return performance.now() - startedAt;
    },
    replace: (worker) => started.replace(worker),
    settle: async () => {},
    async stop() {
      await Promise.all([started.stop(), server.stop()]);
    },
  };
}

async function post(url: string, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(END_WITHIN_MS);
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const text = await response.text();
  if (!response.ok) throw new Error(`Restate answered ${response.status}: ${text.slice(0, 500)}`);
  return text;
}
