import type { ActorDefinition } from '../../../runtime/define-actor.ts';
import type { EffectHandler } from '../../../runtime/effect.ts';

/** Exports of a workload's module: actors and effects of its nodes beside the product's own. */
export interface Workload {
  readonly actors: readonly ActorDefinition[];
  readonly effects: readonly EffectHandler[];
}

/** Loads it by URL; both kinds of process of a cluster run the same module. */
export async function loadWorkload(module: string): Promise<Workload> {
  const loaded: Workload = await import(module);
  if (!Array.isArray(loaded.actors) || !Array.isArray(loaded.effects)) {
    throw new Error(`${module}: expected the exports actors and effects`);
  }
  return loaded;
}
