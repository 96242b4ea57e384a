import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { roleOptions, serveRole } from '../role.ts';

interface Run {
  readonly steps: number;
  readonly stepMs: number;
  readonly trail: string;
}

interface WorkflowContext {
  readonly key: string;
  run(name: string, step: () => Promise<number>): Promise<number>;
}

/** The part of Restate's SDK in use; the SDK is not a dependency. */
interface Sdk {
  workflow(definition: {
    readonly name: string;
    readonly handlers: { run(context: WorkflowContext, run: Run): Promise<number> };
  }): object;
  createEndpointHandler(options: { readonly services: readonly object[] }): Parameters<typeof createServer>[1];
}

// Its two log lines for each workflow would be measured too.
process.env.RESTATE_LOGGING = 'ERROR';
const { packages, port } = roleOptions<{ packages: string; port: number }>();
const entry = createRequire(join(packages, 'package.json')).resolve('@restatedev/restate-sdk');
const sdk: Sdk = await import(pathToFileURL(entry).href);

const failover = sdk.workflow({
  name: 'failover',
  handlers: {
    async run(context, { steps, stepMs, trail }) {
      for (let number = 0; number < steps; number += 1) {
        await context.run(`step ${number}`, async () => {
          await appendFile(trail, `${context.key} ${number} -\n`);
          await pause(stepMs);
          return number;
        });
      }
      return steps;
    },
  },
});

const server = createServer(sdk.createEndpointHandler({ services: [failover] }));
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
