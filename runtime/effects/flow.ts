import { tenantOf } from '../address.ts';
import type { EffectJob } from '../effect-queue.ts';

/** Whose turn an effect is: tenants take turns, and within a tenant its agents, workflows and other sources of effects. */
export interface Flow {
  readonly tenant: string;
  readonly key: string;
}

/** Without a fairness key all actors of one kind share a turn. */
export const flowOf = ({ address, fairnessKey }: Pick<EffectJob, 'address' | 'fairnessKey'>): Flow => ({
  tenant: tenantOf(address),
  key: fairnessKey ?? address.slice(0, address.indexOf('/')),
});

const MOST_KEY_CHARS = 200;

/** The fairness key as jobs and rows of effects hold it, in one short line; nothing without one. */
export function fairnessPart(key: string | null | undefined): { readonly fairnessKey?: string } {
  return key == null ? {} : { fairnessKey: key.slice(0, MOST_KEY_CHARS).replaceAll('\n', ' ') };
}
