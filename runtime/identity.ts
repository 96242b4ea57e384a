import { z } from 'zod';
import type { Condition } from './documents.ts';

/** Tenant of everything that belongs to no other tenant, and of the local operator (G3). */
export const SYSTEM_TENANT = 'svc-system';

export const TIERS = ['free', 'pro', 'business', 'enterprise'] as const;

/**
 * The caller of a request. It is made once at the edge from a verified token, and every message that follows carries it
 * (S1). `local` is the operator of a loopback node without an identity provider (S2).
 */
export const Identity = z.object({
  kind: z.enum(['local', 'operator', 'service_account', 'consumer', 'tenant_user', 'actor']),
  subject: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  tier: z.enum(TIERS),
  /**
   * The identity acts for a resource that only its subject owns (scope user): that subject and operators alone see what
   * is started under it. The edge never reads this field from a caller.
   */
  confidential: z.literal(true).optional(),
  /** Further tenants that a service account may act for; `*` means all. Absent: only its own tenant. */
  tenants: z.array(z.string()).optional(),
});

export type Identity = z.infer<typeof Identity>;

/**
 * Who reads runs, sessions and approvals: a caller's identity, or a tenant's slug. The slug alone is for the node's own
 * upkeep, which sees everything of the tenant.
 */
export type Viewer = string | Looking;

type Looking = Pick<Identity, 'tenant'> & Partial<Pick<Identity, 'kind' | 'subject' | 'roles'>>;

/** Roles that give rights over a tenant. The local operator has these rights without a role. */
const ADMIN_ROLE = 'svc:admin';

const OPERATOR_ROLES: readonly string[] = [ADMIN_ROLE, 'svc:operator'];

export const tenantOfViewer = (viewer: Viewer): string => (typeof viewer === 'string' ? viewer : viewer.tenant);

/** The owner of a run that is started with this identity. Absent: the run belongs to its tenant. */
export const ownerPart = (identity: Identity | null | undefined): { readonly owner?: string } =>
  identity?.confidential === true ? { owner: identity.subject } : {};

/**
 * Whether the viewer may see a resource of this owner. Runs of an agent or workflow of scope user, and everything that
 * they start, are visible to their user and to operators alone (docs/explanation/catalog.md, Scopes).
 */
export const sees = (viewer: Viewer, owner: string | undefined): boolean =>
  owner === undefined || seesAll(viewer) || (typeof viewer !== 'string' && viewer.subject === owner);

/**
 * Whether the viewer may stop a run: an administrator may stop any run of its tenant by id, even one that it may not
 * see.
 */
export const mayStop = (viewer: Viewer, owner: string | undefined): boolean =>
  sees(viewer, owner) ||
  (typeof viewer !== 'string' && viewer.kind === 'tenant_user' && viewer.roles?.includes(ADMIN_ROLE) === true);

/** The rule of `sees` as a list condition on the field `owner`, which is absent for runs that belong to the tenant. */
export function seenPart(viewer: Viewer): { readonly owner?: Condition } {
  if (seesAll(viewer)) return {};
  const { subject } = typeof viewer === 'string' ? { subject: undefined } : viewer;
  return { owner: subject === undefined ? null : { in: [null, subject] } };
}

/** Whether the viewer sees everything of its tenant, also what belongs to one user. */
export function seesAll(viewer: Viewer): boolean {
  if (typeof viewer === 'string') return true;
  if (viewer.kind === 'local') return true;
  return viewer.kind === 'operator' && OPERATOR_ROLES.some((role) => viewer.roles?.includes(role));
}
