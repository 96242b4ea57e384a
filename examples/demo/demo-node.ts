import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { type Node, startNode } from '../../main.ts';

const HOST = '127.0.0.1';
const REST_PORT = 8080;
const GRPC_PORT = 50051;
const INTERNAL_PORT = 8081;
const INTERNAL_GRPC_PORT = 50052;
/** Settings of the environment are for real nodes; the demo has its own node on embedded stores. */
const NODE_VARIABLES = /^(SVC_(?!MODEL$)|REDIS_URL$|MONGODB_URI$)/;

/**
 * A node with embedded stores below `dataDir`, whose programs may read `looksAt`, on the default ports or, where these are
 * taken, on free ones.
 */
export async function startDemoNode(
  dataDir: string,
  { checkout, looksAt }: { readonly checkout: string; readonly looksAt: string },
  providers: readonly object[],
): Promise<Node> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const config = join(dataDir, 'svc.yaml');
  const settings = {
    apiVersion: 'svc.dev/v1',
    kind: 'NodeConfig',
    spec: {
      llm_providers: providers,
      // A person watches, so a model that does not answer is reported soon.
      llm_selection: { max_retries: 1, retry_delay_ms: 500 },
      // Example manifests name their programs relative to the root of the checkout.
      runtime: {
        bootstrap_dir: checkout,
        // The program that reports on a directory runs in a sandbox, and sees only the paths of this machine that are named
        // here.
        host_commands: { paths: looksAt === '/' ? [] : [{ path: looksAt }] },
      },
    },
  };
  await writeFile(config, `# Written by the demo at each start.\n${stringify(settings)}`, { mode: 0o600 });
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NODE_VARIABLES.test(name)));
  const flags = {
    config,
    data: dataDir,
    bind: HOST,
    'http-port': String(await portOrFree(REST_PORT)),
    'grpc-port': String(await portOrFree(GRPC_PORT)),
    'internal-port': String(await portOrFree(INTERNAL_PORT)),
    'internal-grpc-port': String(await portOrFree(INTERNAL_GRPC_PORT)),
  };
  const logger = pino({ level: 'warn', base: null }, pino.destination(join(dataDir, 'node.log')));
  return startNode({ flags, env, logger });
}

/** The port, or 0 (any free one) when another process listens there. */
function portOrFree(port: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(0));
    probe.listen(port, HOST, () => probe.close(() => resolve(port)));
  });
}
