import { randomBytes } from 'node:crypto';
import { APPROVALS, type ApprovalDocument } from '../actors/approval/view.ts';
import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../actors/workflow/view.ts';
import type { NodeControls } from '../cluster/operations/node-controls.ts';
import type { FleetPlacement } from '../cluster/placement/fleet-placement.ts';
import { aliasesIn } from '../manifests/node/capabilities.ts';
import type { Documents } from '../runtime/documents.ts';
import { poolOfTags } from '../runtime/locator.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { VERSION } from '../runtime/store-formats.ts';
import type { Health } from '../transport/health.ts';
import { createDispatchApi } from '../usecases/dispatches.ts';
import { createExecutionApi, type ExecutionApi } from '../usecases/executions.ts';
import { createFeedApi, type FeedApi } from '../usecases/feed/feed.ts';
import type { JudgePanelApi } from '../usecases/judge-panels.ts';
import type { ManagementPorts } from '../usecases/management.ts';
import type { NodePeerApi } from '../usecases/node-api.ts';
import { createNodePeerApi } from '../usecases/nodes.ts';
import type { OperationPorts } from '../usecases/operations/operation.ts';
import type { ClusterApi } from '../usecases/ports/cluster.ts';
import { createRunsApi } from '../usecases/runs/list-runs.ts';
import type { Admission } from '../usecases/starts/admission.ts';
import { openStartKeys } from '../usecases/starts/start-keys.ts';
import { isStartedBy } from '../usecases/waits/wait-reason.ts';
import type { WorkflowApi } from '../usecases/workflow-runs.ts';
import type { Audit } from './audit.ts';
import type { Callers } from './callers.ts';
import { openCatalogs } from './catalogs.ts';
import type { EffectAreas } from './effect-areas.ts';
import type { Effects } from './effects.ts';
import type { Signing } from './fleet.ts';
import { managementPorts } from './management.ts';
import type { NodeContext } from './node-context.ts';
import { executionOffer, openToolAreas } from './tool-areas.ts';
import { openRecordings, openTraces } from './traces.ts';
import { openWhy, openWorkflowAreas, type Waits, waitsOf } from './workflow-areas.ts';

interface AreasParts {
  readonly context: NodeContext;
  readonly stores: OpenStores;
  readonly signing: Signing;
  readonly audit: Audit;
  readonly callers: Callers;
  readonly effects: Effects;
  readonly runtime: Runtime;
  readonly placement: FleetPlacement;
  readonly controls: Pick<NodeControls, 'isolation'>;
  readonly admission: Admission;
  readonly health: Health;
}

/** Ports of operations that `openCluster` opens. */
type ClusterPorts = 'cluster' | 'joinTokens' | 'providers' | 'chaos';

export type Areas = Awaited<ReturnType<typeof openAreas>>;

/** Opens the catalogs and use cases over the runtime, for transports and effects. */
export async function openAreas(parts: AreasParts) {
  const { context, stores, signing, audit, callers, effects, runtime, admission } = parts;
  const { documents } = stores;
  const catalogs = await openCatalogs({ context, documents, overrides: callers.rateOverrides });
  const { agents, builtIns, inUse, search } = catalogs;
  const waits = waitsOf(runtime, stores.store, effects.gates);
  const executions = await openExecutions(parts, waits);
  const why = await openWhy({ runtime, documents, waits, fleet: parts.placement, clock: context.clock });
  const dispatch = createDispatchApi({ client: runtime.client, blobs: stores.blobs });
  const workflowAreas = await openWorkflowAreas({
    context,
    documents,
    runtime,
    agents,
    builtIns,
    inUse,
    executions,
    waits,
  });
  const { workflows, approvals, stimuli, stimulusRoutes, judges, webhooks } = workflowAreas;
  const { seal, mcp } = await openToolAreas({
    context,
    stores,
    runtime,
    signing,
    audit,
    granter: effects.granter,
    admission,
  });
  const limits = await openStartLimits(parts, executions, workflows.workflows);
  const traces = await openTraces({
    stores,
    clock: context.clock,
    runtime,
    executions,
    workflows: workflows.workflows,
    volumes: effects.volumes,
    placement: parts.placement,
  });
  const lists = await openLists(documents);
  const ports: Omit<Required<OperationPorts>, ClusterPorts> = {
    agents,
    search,
    recordings: openRecordings({
      runtime,
      store: stores.store,
      settings: context.settings,
      executions,
      workflows: workflows.workflows,
    }),
    executions,
    why,
    workflows,
    approvals,
    runs: createRunsApi({ executions: lists.executions, workflows: lists.workflows, client: runtime.client }),
    stimuli,
    stimulusRoutes,
    volumes: effects.volumes,
    patterns: effects.patterns,
    keys: callers.keys,
    secretStore: callers.secretStore,
    secretKeys: callers.secretKeys,
    rateOverrides: callers.rateOverrides,
    tierLimits: callers.tierLimits,
    rateUsage: limits.rateUsage,
    runningLimits: limits.runningLimits,
    startKeys: limits.startKeys,
    actors: traces.actors,
    actorMailbox: traces.actorMailbox,
    actorHistory: traces.actorHistory,
    forks: traces.forks,
    deadLetters: traces.deadLetters,
    traces: traces.traces,
    messages: traces.messages,
    tap: traces.tap,
    audit: audit.reader,
    isReadOnly: false,
  };
  const management = openManagement(parts, ports, judges);
  const feed = (cluster: ClusterApi): FeedApi =>
    createFeedApi({
      log: runtime.changes,
      clock: context.clock,
      client: runtime.client,
      executions,
      workflows: workflows.workflows,
      cluster,
      lists,
      warn: context.warn,
    });
  const forEffects: EffectAreas = { ...workflowAreas.forEffects, dispatch, management: async () => management };
  return {
    ports,
    lists,
    feed,
    judges,
    webhooks,
    seal,
    mcp,
    dispatch,
    management,
    forEffects,
    oldAgents: catalogs.oldAgents,
    /** Aliases of models that live nodes have. */
    models: (): readonly string[] => aliasesIn(parts.placement.capabilities),
  };
}

async function openExecutions(
  { context, stores, runtime, placement, controls, effects }: AreasParts,
  waits: Waits,
): Promise<ExecutionApi> {
  return createExecutionApi({
    client: runtime.client,
    executions: await stores.documents.collection<ExecutionDocument>(EXECUTIONS),
    removals: runtime.removals,
    changes: runtime.changes,
    waits,
    volumes: effects.volumes.ofExecutions,
    node: executionOffer({ settings: context.settings, controls, log: context.logger }),
    scarce: (tags, needs) => placement.scarceIn(poolOfTags(tags), needs),
    workers: outsideWorkers(
      createNodePeerApi({ client: runtime.client, random: context.random, randomBytes }),
      placement,
    ),
  });
}

/** Registered workers that share no store with the fleet, and are healthy. */
const outsideWorkers = (
  peers: Pick<NodePeerApi, 'list'>,
  placement: Pick<FleetPlacement, 'isLive'>,
): { has(tags: readonly string[]): Promise<boolean> } => ({
  async has(tags) {
    const active = await peers.list('ACTIVE');
    return active.some(
      ({ node_id, role, capabilities }) =>
        role !== 'CONTROLLER' && !placement.isLive(node_id) && tags.every((tag) => capabilities.tags.includes(tag)),
    );
  },
});

/** Opens the lists of runs and approvals. */
export async function openLists(documents: Documents) {
  return {
    executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
    workflows: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
    approvals: await documents.collection<ApprovalDocument>(APPROVALS),
  };
}

/** Opens the checks of callers' starts: idempotency keys and running limits. */
async function openStartLimits(
  { context, stores, runtime, callers }: AreasParts,
  executions: ExecutionApi,
  workflows: WorkflowApi,
) {
  const startKeys = await openStartKeys({
    documents: stores.documents,
    clock: context.clock,
    random: context.random,
    executions,
    workflows,
    startedBy: (caller, id) => isStartedBy(runtime.client, caller, id),
  });
  const { runningLimits, rateUsage } = await callers.running({ executions, workflows });
  return { startKeys, runningLimits, rateUsage };
}

/** Creates the ports of the tools svc.*. */
function openManagement(
  { context, stores, effects, health }: AreasParts,
  ports: Pick<
    Required<OperationPorts>,
    'agents' | 'search' | 'executions' | 'workflows' | 'why' | 'traces' | 'approvals' | 'tierLimits' | 'runningLimits'
  >,
  judges: JudgePanelApi,
): ManagementPorts {
  return managementPorts({
    agents: ports.agents,
    catalog: ports.workflows.catalog,
    search: ports.search,
    executions: ports.executions,
    workflows: ports.workflows.workflows,
    why: ports.why,
    traces: ports.traces,
    approvals: ports.approvals,
    judges,
    volumes: effects.volumes,
    tierLimits: ports.tierLimits,
    runningLimits: ports.runningLimits,
    store: stores.store,
    clock: context.clock,
    version: VERSION,
    health,
    settings: context.settings,
    configPath: context.configPath,
    runsImages: effects.runsImages,
  });
}
