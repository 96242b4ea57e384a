import type { PoolLayout } from './address.ts';
import { type Address, type Partition, partitionOf } from './address.ts';
import type { ActorDefinition } from './define-actor.ts';

/** The actor kinds a node serves, and where their actors live. */
export class Registry {
  readonly #kinds = new Map<string, ActorDefinition>();
  readonly #layouts: Map<string, PoolLayout>;

  constructor(definitions: readonly ActorDefinition[], layouts: readonly PoolLayout[]) {
    this.#layouts = new Map(layouts.map((layout) => [layout.pool, layout]));
    for (const definition of definitions) {
      if (this.#kinds.has(definition.kind)) throw new Error(`actor kind ${definition.kind} is defined twice`);
      this.#kinds.set(definition.kind, definition);
    }
  }

  definitionOf(address: Address): ActorDefinition | undefined {
    return this.#kinds.get(address.slice(0, address.indexOf('/')));
  }

  get definitions(): readonly ActorDefinition[] {
    return [...this.#kinds.values()];
  }

  /** Home of an address: its kind's pool, hashed (design K1). Actors of a `placed` kind may live elsewhere: Locator. */
  homeOf(address: Address): Partition {
    return this.partitionIn(this.definitionOf(address)?.pool ?? 'default', address);
  }

  /** The partition an address would have in a pool. */
  partitionIn(pool: string, address: Address): Partition {
    const layout = this.#layouts.get(pool);
    if (layout === undefined) throw new Error(`pool ${pool} is not defined`);
    return partitionOf(address, layout);
  }

  knows(pool: string): boolean {
    return this.#layouts.has(pool);
  }

  /** A pool for tags was defined. */
  learn(layout: PoolLayout): void {
    this.#layouts.set(layout.pool, layout);
  }
}
