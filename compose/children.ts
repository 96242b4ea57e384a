import type { ExecutionApi, StartExecution } from '../actors/execution/api.ts';
import { ancestryProblem, type WorkflowApi } from '../actors/workflow/api.ts';
import { type AgentCatalog, actingFor, requireStartable } from '../catalog/api.ts';
import type { WorkflowCatalog } from '../catalog/workflow-api.ts';
import type { AgentStartInput, AgentStarts, WorkflowStarts } from '../effects/starts/child-start.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import { startOnce } from '../transport/start-limits.ts';
import { startWorkflow } from '../transport/start-workflow.ts';

/** How actors start agents: by name as their identity sees them, once an execution id. */
export function agentStarts(agents: AgentCatalog, executions: ExecutionApi): AgentStarts {
  return {
    async start(request, call) {
      const { identity, context, mounts, workflow_execution_id: parent, depth } = request;
      const agent = await agents.get(identity, request.agent);
      const start: StartExecution = {
        executionId: request.execution_id,
        agentId: agent.agent_id,
        manifest: narrowed(agent.manifest, request),
        input: request.input,
        identity: actingFor(identity, agent),
        notify: request.notify,
        ...(context === undefined ? {} : { context }),
        ...(mounts === undefined ? {} : { mounts: mounts.map(mountOf) }),
        ...(parent === undefined ? {} : { workflowExecutionId: parent }),
        ...(depth === undefined ? {} : { depth }),
      };
      await startOnce(executions, start, call, async () => requireStartable(agent));
      return { agent_id: agent.agent_id };
    },
    cancel: (tenant, executionId) => executions.cancel(tenant, executionId),
  };
}

/** What the parent says about this one run. */
function narrowed(manifest: AgentManifest, { isolation, one_shot }: AgentStartInput): AgentManifest {
  const { runtime, execution } = manifest.spec;
  return {
    ...manifest,
    spec: {
      ...manifest.spec,
      ...(isolation === undefined || isolation === 'inherit' ? {} : { runtime: { ...runtime, isolation } }),
      ...(one_shot ? { execution: { ...execution, mode: 'one-shot' as const, max_iterations: 1 } } : {}),
    },
  };
}

const mountOf = ({ volume_id, mount_path, access_mode }: NonNullable<AgentStartInput['mounts']>[number]) => ({
  volume_id,
  mount_path,
  read_only: access_mode === 'read-only',
});

/** How actors start workflows: as their identity sees them, once an execution id, never below themselves. */
export function workflowStarts(catalog: WorkflowCatalog, workflows: WorkflowApi): WorkflowStarts {
  return {
    async start(request, call) {
      const { identity, ancestors, workflow, version, intent, input, blackboard, notify } = request;
      const reader = { tenant: identity.tenant, subject: identity.subject };
      const found = await catalog.get(reader, workflow, version);
      const problem = ancestryProblem(ancestors, found.id, found.name);
      if (problem !== null) throw new SvcError('failed_precondition', problem.message);
      const { workflow_id, name } = await startWorkflow(
        { catalog, workflows },
        {
          workflow,
          ancestors,
          input,
          ...(version === undefined ? {} : { version }),
          ...(intent === undefined ? {} : { intent }),
          ...(blackboard === undefined ? {} : { blackboard }),
          ...(notify === undefined ? {} : { notify }),
        },
        { identity, executionId: request.execution_id, ...call },
      );
      return { workflow_id, name };
    },
    cancel: (tenant, executionId) => workflows.cancel(parentOf(tenant), executionId),
  };
}

/** Who takes a start back: the actor that asked for it. */
const parentOf = (tenant: string): Identity => ({
  ...{ kind: 'actor', subject: 'parent', tenant },
  ...{ roles: [], tier: 'enterprise' },
});
