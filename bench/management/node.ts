import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execution } from '../../actors/execution/definition.ts';
import { workflowActor } from '../../actors/workflow/definition.ts';
import { createModelEffect } from '../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfigs } from '../../manifests/node/models.ts';
import type { ActorClient } from '../../runtime/client.ts';
import type { Documents } from '../../runtime/documents.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import {
  createExecutionApi,
  EXECUTIONS,
  type ExecutionApi,
  type ExecutionDocument,
} from '../../usecases/executions.ts';
import {
  createWorkflowApi,
  WORKFLOW_EXECUTIONS,
  type WorkflowApi,
  type WorkflowExecutionDocument,
} from '../../usecases/workflow-runs.ts';

export interface ListingNode {
  readonly client: ActorClient;
  readonly executions: ExecutionApi;
  readonly runs: WorkflowApi;
  stop(): Promise<void>;
}

/** A node whose actors are in SQLite files of its own and whose documents are in the store that is measured. */
export async function startListingNode(documents: Documents): Promise<ListingNode> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-node-'));
  const warn = (message: string, error: unknown): void => console.error(message, error);
  const script = join(directory, 'script.yaml');
  await writeFile(script, 'rules:\n  - reply: { text: done }\n');
  const models = [{ alias: 'default', model: 'scripted' }];
  const model = createModelEffect({
    providers: ProviderConfigs.parse([{ name: 'scripted', type: 'scripted', script, models }]),
    selection: ModelSelection.parse({}),
    secrets: { resolve: async (_tenant, reference) => reference },
  });
  const ports = await openStores({ dataDir: directory, warn });
  const definitions = [execution, workflowActor()];
  const parts = { ...ports, documents, definitions, handlers: [model], node: randomUUID(), settings: {}, warn };
  const runtime = await startRuntime(parts);
  const { client } = runtime;
  return {
    client,
    executions: createExecutionApi({
      client,
      executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
    }),
    runs: createWorkflowApi({
      client,
      executions: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
      approvals: {
        answer: () => Promise.reject(new Error('this benchmark answers no approval')),
        ensureListed: () => Promise.resolve(),
      },
    }),
    async stop() {
      await runtime.stop();
      await ports.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
