import { z } from 'zod';

/** Tenant of everything that no other tenant owns, and of the local operator (spec 1, Endpoints rule 1). */
export const SYSTEM_TENANT = 'svc-system';

/**
 * Who asks. Made once at the edge from a verified token and carried by every message that follows (design S1).
 * `local` is the operator of a loopback node without an identity provider (design S2).
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
