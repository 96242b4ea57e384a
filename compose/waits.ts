import type { ActorStore } from '../runtime/actor-store.ts';
import { type Address, parseAddress, poolOf } from '../runtime/address.ts';
import type { EffectRow } from '../runtime/effect-ledger.ts';
import type { TargetGates } from '../runtime/effects/target-gates.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Where it is looked up what an actor waits for: the pool that serves it, its effects that nobody has settled. */
export interface Waits {
  poolOf(address: Address): Promise<string>;
  effects(address: Address): Promise<readonly EffectRow[]>;
  /** What an effect of this node waits for outside of it. */
  heldBy(effectId: string): string | undefined;
}

/** From the directory of actors and the records of their partitions. */
export function waitsOf(
  { client }: Pick<Runtime, 'client'>,
  store: Pick<ActorStore, 'openEffects'>,
  gates?: Pick<TargetGates, 'waitOf'>,
): Waits {
  return {
    poolOf: async (address) => poolOf(await client.partitionOf(address)),
    async effects(address) {
      parseAddress(address);
      const rows = await store.openEffects(await client.partitionOf(address));
      return rows.filter((row) => row.address === address);
    },
    heldBy: (effectId) => gates?.waitOf(effectId),
  };
}
