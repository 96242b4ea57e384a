import type { AgentStarts, WorkflowStarts } from '../effects/starts/child-start.ts';
import type { Address } from '../runtime/address.ts';
import type { DispatchApi } from '../usecases/gateway.ts';
import type { LateManagement, ManagementPorts } from '../usecases/management.ts';

/** What effects ask of the areas. Effects are registered before the runtime is there, areas talk through it. */
export interface Areas {
  readonly agents: AgentStarts;
  readonly workflows: WorkflowStarts;
  /** The inner loop, for agents in containers. */
  readonly dispatch: DispatchApi;
  /** Whether an execution or a workflow has ended; an unknown one has. */
  ended(tenant: string, executionId: string): Promise<boolean>;
  /** Subject whose own an execution or run is; undefined: it is the tenant's, or unknown. */
  ownerOf(tenant: string, executionId: string): Promise<string | undefined>;
  /** Whether the effect's record still exists: its actor waits for the result. */
  isOpen(address: Address, effectId: string): Promise<boolean>;
}

/** The areas, once they are there: an effect that runs earlier waits. */
export class LateAreas {
  readonly #areas = Promise.withResolvers<Areas>();
  readonly #management = Promise.withResolvers<ManagementPorts>();

  provide(areas: Areas): void {
    this.#areas.resolve(areas);
  }

  provideManagement(ports: ManagementPorts): void {
    this.#management.resolve(ports);
  }

  /** For the tools svc.*. */
  get management(): LateManagement {
    return () => this.#management.promise;
  }

  get agents(): AgentStarts {
    return {
      start: async (request, call) => (await this.#areas.promise).agents.start(request, call),
      cancel: async (tenant, id) => (await this.#areas.promise).agents.cancel(tenant, id),
    };
  }

  get workflows(): WorkflowStarts {
    return {
      start: async (request, call) => (await this.#areas.promise).workflows.start(request, call),
      cancel: async (tenant, id) => (await this.#areas.promise).workflows.cancel(tenant, id),
    };
  }

  get dispatch(): DispatchApi {
    return {
      generate: async (...call) => (await this.#areas.promise).dispatch.generate(...call),
      dispatchResult: async (...call) => (await this.#areas.promise).dispatch.dispatchResult(...call),
    };
  }

  async ended(tenant: string, executionId: string): Promise<boolean> {
    return (await this.#areas.promise).ended(tenant, executionId);
  }

  async ownerOf(tenant: string, executionId: string): Promise<string | undefined> {
    return (await this.#areas.promise).ownerOf(tenant, executionId);
  }

  async isOpen(address: Address, effectId: string): Promise<boolean> {
    return (await this.#areas.promise).isOpen(address, effectId);
  }
}
