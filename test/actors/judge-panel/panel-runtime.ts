import { z } from 'zod';
import { execution } from '../../../actors/execution/definition.ts';
import { judgePanel } from '../../../actors/judge-panel/definition.ts';
import { createAgentCatalog } from '../../../catalog/agent-catalog.ts';
import { type AgentStarts, createAgentStart } from '../../../effects/starts/child-start.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../../usecases/executions.ts';
import { createJudgePanelApi } from '../../../usecases/judge-panels.ts';
import { startOnce } from '../../../usecases/starts/start-execution.ts';
import { type KernelNodeOptions, startKernelNode } from '../../support/kernel-node.ts';

/** Output of a judge's model; `hang` waits until it is stopped. */
export type Says = (prompt: string) => string | 'hang';

const Prompt = z.looseObject({ messages: z.array(z.looseObject({ content: z.string() })) });

const manifest = (name: string): string => `
apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: 1.0.0}
spec:
  task: {instruction: 'I am ${name}.'}
  execution: {mode: iterative, max_iterations: 5}
`;

/** Panels, executions and catalog on a real kernel; only the model is a function. */
export async function panelRuntime(options: { readonly says: Says; readonly store?: KernelNodeOptions['store'] }) {
  const prompts: string[] = [];
  const stopped: string[] = [];
  const model = defineEffect({
    kind: 'model.generate',
    input: Prompt,
    async run({ messages }, { signal }) {
      const prompt = messages[0]?.content ?? '';
      prompts.push(prompt);
      const text = options.says(prompt);
      if (text === 'hang') {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        stopped.push(prompt);
        throw new SvcError('cancelled');
      }
      const usage = { input_tokens: 1, output_tokens: 1, cost: 0 };
      return { text, tool_calls: [], finish_reason: 'stop', provider: 'p', model: 'm', usage };
    },
  });
  const late = Promise.withResolvers<AgentStarts>();
  const starts: AgentStarts = {
    start: async (request, call) => (await late.promise).start(request, call),
    cancel: async (tenant, id) => (await late.promise).cancel(tenant, id),
  };
  const node = await startKernelNode({
    definitions: [judgePanel, execution],
    handlers: [createAgentStart(starts), model],
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const agents = await createAgentCatalog({ documents: node.documents, clock: systemClock, random: systemRandom });
  const { client } = node.runtime;
  const executions = createExecutionApi({
    client,
    executions: await node.documents.collection<ExecutionDocument>(EXECUTIONS),
  });
  late.resolve({
    async start(request, { trace, signal }) {
      const { agent_id, manifest: deployed } = await agents.get(request.identity, request.agent);
      const { spec } = deployed;
      const oneShot = { ...spec, execution: { ...spec.execution, mode: 'one-shot' as const } };
      const start = {
        executionId: request.execution_id,
        agentId: agent_id,
        manifest: request.one_shot ? { ...deployed, spec: oneShot } : deployed,
        input: request.input,
        notify: request.notify,
        identity: request.identity,
      };
      await startOnce(executions, start, { trace, signal });
      return { agent_id };
    },
    cancel: (tenant, id) => executions.cancel(tenant, id),
  });
  return {
    node,
    client,
    agents,
    executions,
    prompts,
    stopped,
    panels: createJudgePanelApi({ client }),
    deploy: async (identity: Identity, name: string): Promise<string> =>
      (await agents.deploy(identity, manifest(name), { force: false })).agent_id,
    [Symbol.asyncDispose]: () => node.stop(),
  };
}
