import type { LateManagement, Starter } from '../../usecases/management.ts';
import type { Listing } from '../discovery/tools.ts';
import type { Tool } from '../tool.ts';
import { agentTools } from './agent/tools.ts';
import { approvalTools } from './approval/tools.ts';
import {
  agentGenerate,
  execute,
  executeIntent,
  executeStatus,
  executeWait,
  runtimeList,
  systemConfig,
  systemInfo,
  workflowGenerate,
} from './contracts.ts';
import { type ManagedCall, managed } from './managed.ts';
import { schemaTools } from './schema/tools.ts';
import { taskTools } from './task/tools.ts';
import { traceTools } from './trace/tools.ts';
import { workflowDeployTools } from './workflow/deploy-tools.ts';
import { waitForWorkflow, workflowRunTools } from './workflow/run-tools.ts';

/** Handlers of the management tools. `listing` lists the tools of a scope. */
export const managementTools = (late: LateManagement, listing: Listing): Tool[] => [
  ...agentTools(late),
  ...workflowDeployTools(late),
  ...workflowRunTools(late),
  ...taskTools(late),
  ...generateTools(late),
  ...executeTools(late),
  ...systemTools(late, listing),
  ...schemaTools(late),
  ...runtimeTools(late),
  ...traceTools(late),
  ...approvalTools(late),
];

/** svc.agent.generate and svc.workflow.generate over `AuthorApi` (W34, W35). */
function generateTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(agentGenerate, ({ input }, { ports, identity, call: { id, trace, signal } }) =>
      ports.authors.agent(input, { identity, trace, signal, executionId: id }),
    ),
    define(workflowGenerate, ({ input }, { ports, identity, call: { id, trace, signal } }) =>
      ports.authors.workflow(input, { identity, trace, signal, executionId: id }),
    ),
  ];
}

/**
 * svc.system.* (W41): facts about this node. Its capabilities are the tools that the caller may use, as in
 * svc.tools.list.
 */
function systemTools(late: LateManagement, listing: Listing): Tool[] {
  const define = managed(late);
  return [
    define(systemInfo, async (_none, { ports: { node }, call: { run } }) => {
      const offers = await listing.list(run.scope, { withoutExecution: run.subject.execution_id === null });
      const status = (await node.healthy()) ? 'healthy' : 'unhealthy';
      return { version: node.version, status, capabilities: offers.map(({ name }) => name) };
    }),
    define(systemConfig, async (_none, { ports: { node } }) => node.config()),
  ];
}

/** svc.runtime.list (W41): the table that executions are checked against, without the fields for bootstraps. */
function runtimeTools(late: LateManagement): Tool[] {
  return [
    managed(late)(runtimeList, async ({ language }, { ports: { node } }) => {
      const wanted = language?.toLowerCase();
      const runtimes = node.runtimes
        .filter((row) => wanted === undefined || row.language === wanted)
        .map(({ language: name, version, image, description, deprecated }) => ({
          language: name,
          version,
          image,
          description,
          deprecated,
        }));
      return { tool: 'svc.runtime.list', runtimes, custom_runtime_supported: node.runsImages };
    }),
  ];
}

const starterOf = ({ identity, call: { id, trace, signal } }: ManagedCall): Starter => ({
  identity,
  trace,
  signal,
  executionId: id,
});

/** svc.execute.* over `IntentApi` (W40). */
function executeTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(executeIntent, (request, managedCall) => managedCall.ports.intents.start(request, starterOf(managedCall))),
    define(execute, ({ prompt: intent }, managedCall) =>
      managedCall.ports.intents.start({ intent, language: 'python' }, starterOf(managedCall)),
    ),
    define(executeStatus, ({ pipeline_execution_id: id }, { ports, identity }) => ports.intents.status(identity, id)),
    define(executeWait, waitForWorkflow),
  ];
}
