import { randomUUID } from 'node:crypto';
import { closedLoop, type LoadPlan } from '../load.ts';
import { importFrom } from '../npm-packages.ts';
import { roleOptions, serveRole } from '../role.ts';
import { STEPS } from '../workflows/five-steps.ts';

interface Connection {
  close(): Promise<void>;
}

interface Sdk {
  readonly Connection: { connect(options: { readonly address: string }): Promise<Connection> };
  readonly Client: new (options: {
    readonly connection: Connection;
  }) => {
    readonly workflow: {
      execute(
        name: string,
        options: { readonly taskQueue: string; readonly workflowId: string; readonly args: readonly unknown[] },
      ): Promise<unknown>;
    };
  };
}

const { packages, address } = roleOptions<{ packages: string; address: string }>();
const { Connection, Client } = await importFrom<Sdk>(packages, '@temporalio/client');
const connection = await Connection.connect({ address });
const { workflow } = new Client({ connection });

serveRole(
  (plan: LoadPlan) =>
    closedLoop(plan, async () => {
      const options = { taskQueue: 'bench', workflowId: randomUUID(), args: [STEPS] };
      const done = await workflow.execute('noOps', options);
      if (done !== STEPS) throw new Error(`a workflow answered ${String(done)}`);
    }),
  () => connection.close(),
);
