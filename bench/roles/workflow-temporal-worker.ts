import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { importFrom } from '../npm-packages.ts';
import { roleOptions, serveRole } from '../role.ts';

/** The part of Temporal's SDK in use; the SDK is not a dependency. */
interface Sdk {
  readonly Runtime: { install(options: { readonly logger: unknown }): void };
  readonly DefaultLogger: new (level: 'ERROR') => unknown;
  readonly NativeConnection: { connect(options: { readonly address: string }): Promise<{ close(): Promise<void> }> };
  readonly Worker: {
    create(options: object): Promise<{ run(): Promise<void>; shutdown(): void }>;
  };
}

/** Bundled by the SDK, so it is a file beside its packages. Local activities: the quickest steps Temporal has. */
const WORKFLOW = `
const { proxyLocalActivities } = require('@temporalio/workflow');
const { step } = proxyLocalActivities({ startToCloseTimeout: '1 minute' });
exports.noOps = async (steps) => {
  let done = 0;
  for (let number = 0; number < steps; number += 1) done += await step();
  return done;
};
`;

const { packages, address } = roleOptions<{ packages: string; address: string }>();
const { Runtime, DefaultLogger, NativeConnection, Worker } = await importFrom<Sdk>(packages, '@temporalio/worker');
Runtime.install({ logger: new DefaultLogger('ERROR') });
const directory = await mkdtemp(join(await realpath(packages), 'workflow-'));
const workflowsPath = join(directory, 'no-ops.js');
await writeFile(workflowsPath, WORKFLOW);
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  ...{ connection, workflowsPath },
  namespace: 'default',
  taskQueue: 'bench',
  activities: { step: async () => 1 },
  maxConcurrentWorkflowTaskExecutions: 100,
  maxConcurrentWorkflowTaskPolls: 20,
});
await rm(directory, { recursive: true, force: true });
const ended = worker.run();
ended.catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
serveRole(
  async () => ({}),
  async () => {
    worker.shutdown();
    await ended;
    await connection.close();
  },
);
