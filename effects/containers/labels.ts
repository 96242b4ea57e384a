import { createHash } from 'node:crypto';
import { type Address, addressOf, parseAddress } from '../../runtime/address.ts';

/** Who a container runs for; kept as labels of the container, so that any node with the engine can tell. */
export interface ContainerOwner {
  readonly tenant: string;
  readonly executionId: string;
  readonly effectId: string;
  /** Actor that asked for the effect. */
  readonly address: Address;
}

export const EFFECT_LABEL = 'dev.svc.effect';
export const REALM_LABEL = 'dev.svc.realm';
/** The node leaves the container to whoever wants to look into it. */
export const KEEP_LABEL = 'dev.svc.keep';
const TENANT_LABEL = 'dev.svc.tenant';
const EXECUTION_LABEL = 'dev.svc.execution';
const ADDRESS_LABEL = 'dev.svc.address';
const NODE_LABEL = 'dev.svc.node';

/** One name per effect: the engine itself refuses a second container for it. */
export function containerName(effectId: string): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(effectId)) return `svc-${effectId}`;
  return `svc-${createHash('sha256').update(effectId).digest('hex')}`;
}

export function labelsOf(owner: ContainerOwner, realm: string, node: string): Record<string, string> {
  return {
    [EFFECT_LABEL]: owner.effectId,
    [TENANT_LABEL]: owner.tenant,
    [EXECUTION_LABEL]: owner.executionId,
    [ADDRESS_LABEL]: owner.address,
    [NODE_LABEL]: node,
    [REALM_LABEL]: realm,
  };
}

/** Null for a container that carries other labels. */
export function ownerOf(labels: Readonly<Record<string, string>>): ContainerOwner | null {
  const effectId = labels[EFFECT_LABEL];
  const tenant = labels[TENANT_LABEL];
  const executionId = labels[EXECUTION_LABEL];
  const address = labels[ADDRESS_LABEL];
  if (effectId === undefined || tenant === undefined || executionId === undefined) return null;
  if (address === undefined) return null;
  try {
    const { kind, tenant: of, id } = parseAddress(address);
    return { tenant, executionId, effectId, address: addressOf(kind, of, id) };
  } catch {
    return null;
  }
}
