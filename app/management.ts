import type { AgentCatalog, CatalogSearch, WorkflowCatalog } from '../catalog/api.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { shownSettings } from '../manifests/node/shown.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';
import type { ActorStore } from '../runtime/actor-store.ts';
import type { Clock } from '../runtime/clock.ts';
import type { RunningLimits, TierLimits } from '../security/api.ts';
import type { Health } from '../transport/health.ts';
import type { ExecutionApi } from '../usecases/executions.ts';
import { createAuthors, createIntents } from '../usecases/intents.ts';
import type { JudgePanelApi } from '../usecases/judge-panels.ts';
import type { ManagementPorts, NodeFacts, Starts } from '../usecases/management.ts';
import type { VolumeApi } from '../usecases/ports/volumes.ts';
import { startExecution } from '../usecases/starts/start-execution.ts';
import { startWorkflow } from '../usecases/starts/start-workflow.ts';
import { createEndWaits } from '../usecases/waits/end-waits.ts';
import type { WhyApi } from '../usecases/why/why.ts';
import type { WorkflowApi } from '../usecases/workflow-runs.ts';

interface ManagementParts extends NodeFactsParts {
  readonly agents: AgentCatalog;
  readonly catalog: WorkflowCatalog;
  readonly search: CatalogSearch;
  readonly executions: ExecutionApi;
  readonly workflows: WorkflowApi;
  readonly why: WhyApi;
  readonly traces: ManagementPorts['traces'];
  readonly approvals: ManagementPorts['approvals'];
  readonly judges: JudgePanelApi;
  readonly volumes: VolumeApi;
  readonly tierLimits: TierLimits;
  readonly runningLimits?: RunningLimits;
  readonly store: Pick<ActorStore, 'onEvents'>;
  readonly clock: Clock;
}

/** The areas in the form that the management tools need. */
export function managementPorts(parts: ManagementParts): ManagementPorts {
  const { agents, catalog, search, executions, workflows, judges, volumes, store, clock } = parts;
  const starts = startsOf(parts);
  const settings = parts.settings.execute;
  return {
    agents,
    search,
    executions,
    judges,
    node: nodeFacts(parts),
    workflows: catalog,
    runs: workflows,
    why: parts.why,
    traces: parts.traces,
    approvals: parts.approvals,
    starts,
    intents: createIntents({ agents, search, starts, runs: workflows, volumes, settings }),
    authors: createAuthors({ starts }),
    waits: createEndWaits({
      clock,
      onEvents: (address, wake) => store.onEvents(address, wake),
      async hasEnded(kind, tenant, id) {
        if (kind === 'execution') return executions.hasEnded(tenant, id);
        return (await workflows.status(tenant, id)).ended_at !== null;
      },
    }),
  };
}

/** Makes starts in the same way as REST and gRPC. */
function startsOf(parts: ManagementParts): Starts {
  const { agents, catalog, executions, workflows, tierLimits, runningLimits } = parts;
  return {
    agent: (call, starter) => startExecution({ agents, executions, tierLimits, runningLimits }, call, starter),
    workflow: (call, starter) => startWorkflow({ catalog, workflows, tierLimits, runningLimits }, call, starter),
  };
}

interface NodeFactsParts {
  readonly version: string;
  readonly health: Health;
  readonly settings: NodeSettings;
  /** Path of the file that the settings were read from. */
  readonly configPath: string | null;
  /** Whether this node has a container engine. */
  readonly runsImages: boolean;
}

function nodeFacts({ version, health, settings, configPath, runsImages }: NodeFactsParts): NodeFacts {
  const runtimes = runtimeTable(settings.runtime.containers.runtimes);
  return {
    version,
    runtimes,
    runsImages,
    healthy: async () => (await health.ready()).ready,
    config: () => ({ config_path: configPath, content_yaml: shownSettings(settings) }),
  };
}
