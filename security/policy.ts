import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';

/**
 * What a call does: `read` looks, `run` starts or cancels executions, `write` changes what is deployed or removes
 * records.
 */
export type Action = 'read' | 'run' | 'write';

export const ADMIN_ROLE = 'svc:admin';
export const OPERATOR_ROLE = 'svc:operator';
export const READONLY_ROLE = 'svc:readonly';

const EVERYTHING: readonly Action[] = ['read', 'run', 'write'];
const USE: readonly Action[] = ['read', 'run'];
const LOOK: readonly Action[] = ['read'];
const NOTHING: readonly Action[] = [];

const USERS = new Set<Identity['kind']>(['consumer', 'tenant_user']);

/** Actions of an identity in its own tenant; what no line grants is denied. */
function allowedActions(identity: Identity): readonly Action[] {
  if (identity.kind === 'local') return EVERYTHING;
  if (identity.kind === 'actor') return NOTHING;
  const writes = identity.roles.includes(ADMIN_ROLE) || identity.roles.includes(OPERATOR_ROLE);
  if (writes && identity.kind !== 'consumer') return EVERYTHING;
  if (identity.roles.includes(READONLY_ROLE)) return LOOK;
  if (identity.kind === 'service_account') return EVERYTHING;
  return USERS.has(identity.kind) ? USE : NOTHING;
}

/**
 * Throws `forbidden` unless the identity may do this in its own tenant (decided.md "Identity"). The tenant itself is no
 * question here: every call acts in `identity.tenant` and there is no other path.
 */
export function requireRole(identity: Identity, action: Action): void {
  if (allowedActions(identity).includes(action)) return;
  throw new SvcError('forbidden', `The caller's role does not allow to ${action} here.`);
}
