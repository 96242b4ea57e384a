import { SvcError } from '../../runtime/errors.ts';

/** `spec.chaos` of one node. */
export interface ChaosSettings {
  readonly enabled: boolean;
  readonly tenants: readonly string[];
}

/** Throws `forbidden` unless this node takes faults for what belongs to the tenant. */
export function checkFence({ enabled, tenants }: ChaosSettings, node: string, tenant: string): void {
  if (!enabled) throw new SvcError('forbidden', `spec.chaos.enabled is false on node ${node}.`);
  if (tenants.includes(tenant)) return;
  throw new SvcError('forbidden', `spec.chaos.tenants of node ${node} does not name ${tenant}.`);
}
