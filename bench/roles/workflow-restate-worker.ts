import { createServer } from 'node:http2';
import { importFrom } from '../npm-packages.ts';
import { roleOptions, serveRole } from '../role.ts';

interface WorkflowContext {
  run(name: string, step: () => Promise<number>): Promise<number>;
}

/** The part of Restate's SDK in use; the SDK is not a dependency. */
interface Sdk {
  workflow(definition: {
    readonly name: string;
    readonly handlers: { run(context: WorkflowContext, run: { steps: number }): Promise<number> };
  }): object;
  createEndpointHandler(options: { readonly services: readonly object[] }): Parameters<typeof createServer>[1];
}

// Its two log lines for each workflow would be measured too.
process.env.RESTATE_LOGGING = 'ERROR';
const { packages, port } = roleOptions<{ packages: string; port: number }>();
const sdk = await importFrom<Sdk>(packages, '@restatedev/restate-sdk');

const noOps = sdk.workflow({
  name: 'no-ops',
  handlers: {
    async run(context, { steps }) {
      let done = 0;
      for (let number = 0; number < steps; number += 1) done += await context.run(`step ${number}`, async () => 1);
      return done;
    },
  },
});

const server = createServer(sdk.createEndpointHandler({ services: [noOps] }));
await new Promise<void>((resolve, reject) => {
  server.once('error', reject);
  server.listen(port, '127.0.0.1', resolve);
});
serveRole(
  async () => ({}),
  async () => {
    server.close();
  },
);
