import { z } from 'zod';
import type { Condition } from './documents.ts';

/** Tenant of everything that no other tenant owns, and of the local operator (G3). */
export const SYSTEM_TENANT = 'svc-system';

/**
 * Who asks. Made once at the edge from a verified token and carried by every message that follows (S1).
 * `local` is the operator of a loopback node without an identity provider (S2).
 */
export const Identity = z.object({
  kind: z.enum(['local', 'operator', 'service_account', 'consumer', 'tenant_user', 'actor']),
  subject: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  tier: z.enum(['free', 'pro', 'business', 'enterprise']),
  /**
   * Acts for something that is its subject's own (scope user): what is started in its name is seen by that subject and
   * by operators alone. Never taken from a caller.
   */
  confidential: z.literal(true).optional(),
  /** Further tenants that a service account may act for, `*` for each; without it none but its own. */
  tenants: z.array(z.string()).optional(),
});

export type Identity = z.infer<typeof Identity>;

/**
 * Who looks at runs, sessions and approvals: a caller, or a tenant by its slug alone for the node's own upkeep, which sees
 * all that is the tenant's.
 */
export type Viewer = string | Looking;

type Looking = Pick<Identity, 'tenant'> & Partial<Pick<Identity, 'kind' | 'subject' | 'roles'>>;

/** Rights over a tenant: of an operator by its role, of the local operator by being that. */
const ADMIN_ROLE = 'svc:admin';

const OPERATOR_ROLES: readonly string[] = [ADMIN_ROLE, 'svc:operator'];

export const tenantOfViewer = (viewer: Viewer): string => (typeof viewer === 'string' ? viewer : viewer.tenant);

/** Whose a run is that is started in this name; absent: its tenant's. */
export const ownerPart = (identity: Identity | null | undefined): { readonly owner?: string } =>
  identity?.confidential === true ? { owner: identity.subject } : {};

/**
 * Whether the viewer sees what has this owner: what is started of an agent or workflow of scope user, and all below it,
 * is its user's and the operators' alone (docs/explanation/catalog.md, Scopes).
 */
export const sees = (viewer: Viewer, owner: string | undefined): boolean =>
  owner === undefined || seesAll(viewer) || (typeof viewer !== 'string' && viewer.subject === owner);

/** Whether the viewer may stop it: an administrator stops what runs in its tenant, seen or not, when it has the id. */
export const mayStop = (viewer: Viewer, owner: string | undefined): boolean =>
  sees(viewer, owner) ||
  (typeof viewer !== 'string' && viewer.kind === 'tenant_user' && viewer.roles?.includes(ADMIN_ROLE) === true);

/** The same as a condition of a list, on the field `owner`, which the tenant's own have not. */
export function seenPart(viewer: Viewer): { readonly owner?: Condition } {
  if (seesAll(viewer)) return {};
  const { subject } = typeof viewer === 'string' ? { subject: undefined } : viewer;
  return { owner: subject === undefined ? null : { in: [null, subject] } };
}

function seesAll(viewer: Viewer): boolean {
  if (typeof viewer === 'string') return true;
  if (viewer.kind === 'local') return true;
  return viewer.kind === 'operator' && OPERATOR_ROLES.some((role) => viewer.roles?.includes(role));
}
