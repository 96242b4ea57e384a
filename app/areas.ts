import type { AgentStarts, WorkflowStarts } from '../effects/starts/child-start.ts';
import type { Address } from '../runtime/address.ts';
import type { DispatchApi } from '../usecases/gateway.ts';
import type { LateManagement, ManagementPorts } from '../usecases/management.ts';

/**
 * What effects need from the areas. Effects are registered before the runtime exists, and areas work through the
 * runtime, so effects get them by `LateAreas`.
 */
export interface Areas {
  readonly agents: AgentStarts;
  readonly workflows: WorkflowStarts;
  /** The inner loop, for agents in containers. */
  readonly dispatch: DispatchApi;
  /** Whether an execution or a workflow run has ended; an unknown one counts as ended. */
  ended(tenant: string, executionId: string): Promise<boolean>;
  /** Subject that owns an execution or run. Undefined: it belongs to the tenant, or is unknown. */
  ownerOf(tenant: string, executionId: string): Promise<string | undefined>;
  /** Whether the effect's record still exists, which means that its actor waits for the result. */
  isOpen(address: Address, effectId: string): Promise<boolean>;
}

/** Holds the areas once they exist. An effect that runs earlier waits for them. */
export class LateAreas {
  readonly #areas = Promise.withResolvers<Areas>();
  readonly #management = Promise.withResolvers<ManagementPorts>();

  provide(areas: Areas): void {
    this.#areas.resolve(areas);
  }

  provideManagement(ports: ManagementPorts): void {
    this.#management.resolve(ports);
  }

  /** The areas for the tools svc.*. */
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
