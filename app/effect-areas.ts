import type { CatalogReader } from '../catalog/api.ts';
import type { AgentStarts, WorkflowStarts } from '../effects/starts/child-start.ts';
import type { WorkerCalls } from '../effects/starts/forward-execution.ts';
import type { Address } from '../runtime/address.ts';
import type { DispatchApi } from '../usecases/gateway.ts';
import type { LateManagement } from '../usecases/management.ts';

/** The use cases that effects call. */
export interface EffectAreas {
  readonly agents: AgentStarts;
  readonly workflows: WorkflowStarts;
  /** The inner loop, for agents in containers. */
  readonly dispatch: DispatchApi;
  /** The manifest of a version of an agent, as it was deployed. Throws `not_found`. */
  manifestOf(reader: CatalogReader, agentId: string, version: string): Promise<string>;
  /** For the tools svc.*. */
  readonly management: LateManagement;
  /** Whether an execution or a workflow has ended; an unknown one has. */
  ended(tenant: string, executionId: string): Promise<boolean>;
  /** Subject that owns an execution or run; undefined: the tenant owns it, or it is unknown. */
  ownerOf(tenant: string, executionId: string): Promise<string | undefined>;
  /** Whether the effect's record still exists: its actor waits for the result. */
  isOpen(address: Address, effectId: string): Promise<boolean>;
}

/** The same use cases before they exist: each call waits for `areas`. */
export function areasOnceOpen(areas: Promise<EffectAreas>): EffectAreas {
  return {
    agents: {
      start: async (request, call) => (await areas).agents.start(request, call),
      cancel: async (tenant, id) => (await areas).agents.cancel(tenant, id),
    },
    workflows: {
      start: async (request, call) => (await areas).workflows.start(request, call),
      cancel: async (tenant, id) => (await areas).workflows.cancel(tenant, id),
    },
    dispatch: {
      generate: async (...call) => (await areas).dispatch.generate(...call),
      dispatchResult: async (...call) => (await areas).dispatch.dispatchResult(...call),
    },
    manifestOf: async (...call) => (await areas).manifestOf(...call),
    management: async () => (await areas).management(),
    ended: async (tenant, executionId) => (await areas).ended(tenant, executionId),
    ownerOf: async (tenant, executionId) => (await areas).ownerOf(tenant, executionId),
    isOpen: async (address, effectId) => (await areas).isOpen(address, effectId),
  };
}

/** Registered workers before the cluster is open: each call waits for `workers`. */
export function workersOnceOpen(workers: Promise<WorkerCalls>): WorkerCalls {
  return {
    route: async (tags) => (await workers).route(tags),
    isHealthy: async (nodeId) => (await workers).isHealthy(nodeId),
    async *forward(...call) {
      yield* (await workers).forward(...call);
    },
  };
}
