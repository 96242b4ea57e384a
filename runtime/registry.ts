import type { PoolLayout } from './address.ts';
import { type Address, type Partition, partitionOf } from './address.ts';
import type { ActorDefinition } from './define-actor.ts';

/** The actor kinds a node serves, and where their actors live. */
export class Registry {
  readonly #kinds = new Map<string, ActorDefinition>();
  readonly #layouts: ReadonlyMap<string, PoolLayout>;

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

  /** The partition an address lives in: its kind's pool, hashed (design K1). */
  partitionOf(address: Address): Partition {
    const pool = this.definitionOf(address)?.pool ?? 'default';
    const layout = this.#layouts.get(pool);
    if (layout === undefined) throw new Error(`pool ${pool} is not defined`);
    return partitionOf(address, layout);
  }

  get layouts(): readonly PoolLayout[] {
    return [...this.#layouts.values()];
  }
}
