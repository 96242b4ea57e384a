import { createServer, type IncomingMessage } from 'node:http';
import { importFrom } from '../npm-packages.ts';
import { roleOptions, serveRole } from '../role.ts';

/** The part of DBOS in use; DBOS is not a dependency. */
interface Sdk {
  readonly DBOS: {
    setConfig(config: { name: string; systemDatabaseUrl: string; logLevel: string }): void;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
    registerWorkflow<Args extends unknown[], Result>(
      workflow: (...args: Args) => Promise<Result>,
      config: { name: string },
    ): (...args: Args) => Promise<Result>;
    runStep<Result>(step: () => Promise<Result>, config: { name: string }): Promise<Result>;
    startWorkflow<Args extends unknown[], Result>(
      workflow: (...args: Args) => Promise<Result>,
      params: { workflowID: string },
    ): (...args: Args) => Promise<{ getResult(): Promise<Result> }>;
  };
}

const { packages, url, port } = roleOptions<{ packages: string; url: string; port: number }>();
const { DBOS } = await importFrom<Sdk>(packages, '@dbos-inc/dbos-sdk');
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' });
const noOps = DBOS.registerWorkflow(
  async (steps: number) => {
    let done = 0;
    for (let number = 0; number < steps; number += 1)
      done += await DBOS.runStep(async () => 1, { name: `step ${number}` });
    return done;
  },
  { name: 'no-ops' },
);
await DBOS.launch();

async function answerTo(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { steps }: { steps: number } = JSON.parse(Buffer.concat(chunks).toString());
  const handle = await DBOS.startWorkflow(noOps, { workflowID: (request.url ?? '').slice(1) })(steps);
  return handle.getResult();
}

const server = createServer((request, response) => {
  answerTo(request).then(
    (done) => response.end(`${done}`),
    (error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    },
  );
});
await new Promise<void>((resolve, reject) => {
  server.once('error', reject);
  server.listen(port, '127.0.0.1', resolve);
});
serveRole(
  async () => ({}),
  async () => {
    server.close();
    await DBOS.shutdown();
  },
);
