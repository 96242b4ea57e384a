import { APPROVALS, type ApprovalDocument } from '../actors/approval/view.ts';
import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { STIMULI, type StimulusDocument } from '../actors/stimulus/view.ts';
import { type AgentCatalog, actingFor, type InUse, requireStartable, type WorkflowCatalog } from '../catalog/api.ts';
import type { BuiltIns } from '../catalog/built-in/api.ts';
import { createStimulusRoutes, STIMULUS_ROUTES, type StimulusRouteDocument } from '../catalog/stimulus-routes.ts';
import { createWorkflowCatalog } from '../catalog/workflow-catalog.ts';
import type { FleetPlacement } from '../cluster/placement/fleet-placement.ts';
import type { AgentStartInput, AgentStarts, WorkflowStarts } from '../effects/starts/child-start.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { ActorStore } from '../runtime/actor-store.ts';
import { type Address, parseAddress, poolOf } from '../runtime/address.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { EffectRow } from '../runtime/effect-ledger.ts';
import type { TargetGates } from '../runtime/effects/target-gates.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createWebhooks } from '../security/webhooks/deliveries.ts';
import { createApprovalApi } from '../usecases/approvals.ts';
import { hasEnded } from '../usecases/execution-status.ts';
import type { ExecutionApi, StartExecution } from '../usecases/executions.ts';
import { createJudgePanelApi } from '../usecases/judge-panels.ts';
import { startOnce } from '../usecases/starts/start-execution.ts';
import { startWorkflow } from '../usecases/starts/start-workflow.ts';
import { createStimulusApi } from '../usecases/stimuli.ts';
import { ownerOfRun } from '../usecases/waits/wait-reason.ts';
import { createWhyApi, type WhyApi } from '../usecases/why/why.ts';
import {
  ancestryProblem,
  createWorkflowApi,
  WORKFLOW_EXECUTIONS,
  type WorkflowApi,
  type WorkflowExecutionDocument,
} from '../usecases/workflow-runs.ts';
import { knownStorage } from './catalogs.ts';
import type { EffectAreas } from './effect-areas.ts';
import type { NodeContext } from './node-context.ts';

/** The actor kinds of workflows. */
interface WorkflowAreasParts {
  readonly context: Pick<NodeContext, 'settings' | 'resolveSecret' | 'warn' | 'clock' | 'random'>;
  readonly runtime: Runtime;
  readonly documents: Documents;
  readonly agents: AgentCatalog;
  readonly builtIns: BuiltIns;
  readonly inUse: InUse;
  readonly executions: ExecutionApi;
  readonly waits: Waits;
}

/** Opens the APIs of workflows: catalog, runs, approvals, judge panels, stimuli. `forEffects`: what effects call. */
export async function openWorkflowAreas(parts: WorkflowAreasParts) {
  const { context, runtime, documents, agents, builtIns, inUse, executions, waits } = parts;
  const { settings, clock, random } = context;
  const { client, removals, changes } = runtime;
  const storage = knownStorage(settings);
  const catalog = await createWorkflowCatalog({ documents, clock, random, agents, builtIns, inUse, storage });
  const approvals = createApprovalApi({ client, approvals: await documents.collection<ApprovalDocument>(APPROVALS) });
  const workflows = createWorkflowApi({
    client,
    removals,
    changes,
    approvals,
    waits,
    agents: executions,
    executions: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
  });
  const stimulusRoutes = createStimulusRoutes({
    documents: await documents.collection<StimulusRouteDocument>(STIMULUS_ROUTES),
    configured: settings.stimulus.routes,
    webhooks: settings.stimulus.webhooks,
    clock,
  });
  const stimuli = createStimulusApi({
    client,
    clock,
    random,
    stimuli: await documents.collection<StimulusDocument>(STIMULI),
    routes: stimulusRoutes,
    settings: settings.stimulus,
  });
  const webhooks = createWebhooks({ webhooks: settings.stimulus.webhooks, resolve: context.resolveSecret, clock });
  for (const line of await webhooks.unusable()) context.warn(line, undefined);
  const forEffects: Omit<EffectAreas, 'dispatch' | 'management'> = {
    agents: agentStarts(agents, executions),
    workflows: workflowStarts(catalog, workflows),
    manifestOf: async (reader, id, version) => (await agents.get(reader, id, version)).manifest_yaml,
    ended: async (tenant, id) => (await hasEnded(workflows, tenant, id)) && (await hasEnded(executions, tenant, id)),
    ownerOf: (tenant, id) => ownerOfRun(client, tenant, id),
    isOpen: async (address, id) => (await waits.effects(address, [id])).length > 0,
  };
  return {
    approvals,
    stimuli,
    stimulusRoutes,
    workflows: { catalog, workflows },
    judges: createJudgePanelApi({ client }),
    webhooks,
    forEffects,
  };
}

/** Looks up waits of an actor: the pool that serves it and its open effects. */
export interface Waits {
  poolOf(address: Address): Promise<string>;
  /** Returns the unsettled ones of these effects of an actor. */
  effects(address: Address, ids: readonly string[]): Promise<readonly EffectRow[]>;
  /** The external target that blocks an effect of this node. */
  heldBy(effectId: string): string | undefined;
}

/** Opens the explanations of runs. */
export async function openWhy(parts: {
  readonly runtime: Pick<Runtime, 'client'>;
  readonly documents: Documents;
  readonly waits: Waits;
  readonly fleet: Pick<FleetPlacement, 'view' | 'holderOf' | 'isLive'>;
  readonly clock: Clock;
}): Promise<WhyApi> {
  const { runtime, documents, waits, fleet, clock } = parts;
  const { client } = runtime;
  return createWhyApi({
    lookups: {
      client,
      effects: (address, ids) => waits.effects(address, ids),
      poolOf: (address) => waits.poolOf(address),
      heldBy: (effectId) => waits.heldBy(effectId),
      fleet: {
        members: async () => (await fleet.view()).members,
        servedBy: async (address) => fleet.holderOf(await client.partitionOf(address)),
        isLive: (holder) => fleet.isLive(holder),
      },
      clock,
    },
    executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
    workflows: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
  });
}

/** Reads the directory of actors and the records of their partitions. */
export function waitsOf(
  { client }: Pick<Runtime, 'client'>,
  store: Pick<ActorStore, 'effectRows'>,
  gates?: Pick<TargetGates, 'waitOf'>,
): Waits {
  return {
    poolOf: async (address) => poolOf(await client.partitionOf(address)),
    async effects(address, ids) {
      parseAddress(address);
      const rows = await store.effectRows(await client.partitionOf(address), ids);
      return rows.filter((row) => row !== null).filter((row) => row.address === address);
    },
    heldBy: (effectId) => gates?.waitOf(effectId),
  };
}

/** Lets actors start agents by name, with the visibility of their identity, once for each execution id. */
function agentStarts(agents: AgentCatalog, executions: ExecutionApi): AgentStarts {
  return {
    async start(request, call) {
      const { identity, context, mounts, depth } = request;
      const agent = await agents.get(identity, request.agent);
      const start: StartExecution = {
        executionId: request.execution_id,
        agentId: agent.agent_id,
        manifest: narrowed(agent.manifest, request),
        input: request.input,
        identity: actingFor(identity, agent),
        notify: request.notify,
        context,
        mounts: mounts?.map(mountOf),
        workflowExecutionId: request.workflow_execution_id,
        depth,
      };
      await startOnce(executions, start, call, async () => requireStartable(agent));
      return { agent_id: agent.agent_id };
    },
    cancel: (tenant, executionId) => executions.cancel(tenant, executionId),
  };
}

/** The manifest with the changes that the parent makes for this one run. */
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

/**
 * Lets actors start workflows with the visibility of their identity, once for each execution id, and never a workflow
 * below itself.
 */
function workflowStarts(catalog: WorkflowCatalog, workflows: WorkflowApi): WorkflowStarts {
  return {
    async start(request, call) {
      const { identity, ancestors, workflow, version, intent, input, blackboard, notify } = request;
      const reader = { tenant: identity.tenant, subject: identity.subject };
      const found = await catalog.get(reader, workflow, version);
      const problem = ancestryProblem(ancestors, found.id, found.name);
      if (problem !== null) throw new SvcError('failed_precondition', problem.message);
      const { workflow_id, name } = await startWorkflow(
        { catalog, workflows },
        { workflow, ancestors, input, version, intent, blackboard, notify },
        { identity, executionId: request.execution_id, ...call },
      );
      return { workflow_id, name };
    },
    cancel: (tenant, executionId) => workflows.cancel(parentOf(tenant), executionId),
  };
}

/** The identity that cancels a start: the actor that made it. */
const parentOf = (tenant: string): Identity => ({
  kind: 'actor',
  subject: 'parent',
  tenant,
  roles: [],
  tier: 'enterprise',
});
