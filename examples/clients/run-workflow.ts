/**
 * Deploys a workflow, runs it and follows it to its end, over REST with the typed client.
 *
 *   SVC_URL=http://127.0.0.1:8080 node examples/clients/run-workflow.ts examples/workflows/data-job/workflow.yaml data-job
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, SvcApiError } from '../../clients/typescript/client.ts';

// A node with `spec.iam.local: token` leaves its token here. Other nodes: SVC_TOKEN, or none.
const local = join(process.env.SVC_DATA ?? 'data', 'local-token');
const token = process.env.SVC_TOKEN ?? (existsSync(local) ? readFileSync(local, 'utf8').trim() : undefined);

const [file = '', name = ''] = process.argv.slice(2);
const svc = createClient({ baseUrl: process.env.SVC_URL ?? 'http://127.0.0.1:8080', token });

await svc.workflows.deploy({ body: readFileSync(file, 'utf8'), force: 'true' });
const { execution_id: id } = await svc.workflows.run({ name, input: {} }, { idempotencyKey: `${name}-today` });
for await (const { event } of svc.workflowExecutions.stream({ id })) console.log(Object.keys(event).join());

const { status, state_outputs } = await svc.workflowExecutions.get({ id });
console.log(status, Object.keys(state_outputs).length, 'states');

try {
  await svc.workflowExecutions.cancel({ id });
} catch (error) {
  if (!(error instanceof SvcApiError)) throw error;
  console.log(error.status, error.message);
}
