import { z } from 'zod';
import { pageAsked, pageFields } from './fields.ts';

/** What agents and workflows have in common. */

export const SCOPES = ['user', 'tenant', 'global'] as const;
export const CATALOG_STATUSES = ['deployed', 'paused', 'archived'] as const;

/** A list holds at most so many. */
export const MOST_LISTED = 1_000;

/** A flag of a query: without a value it is true. */
export const flagField = z.enum(['', 'true', 'false']).optional();
export const isSet = (flag: string | undefined): boolean => flag === '' || flag === 'true';

export const DeployBody = z.object({
  manifest_yaml: z.string().min(1),
  force: z.boolean().default(false).describe('Overwrites the same name and version.'),
  scope: z.enum(SCOPES).optional().describe('Default tenant; global needs the operator role.'),
});
export const DeployQuery = z.object({
  force: flagField.describe('Overwrite the same name and version; without a value it is true.'),
  scope: z.enum(SCOPES).optional().describe('Default tenant; global needs the operator role.'),
});

export const ListQuery = z.object({
  scope: z
    .enum(['global', 'visible'])
    .optional()
    .describe('`global`: those of all tenants; `visible`: all the caller can run; default those of the tenant.'),
  status: z.enum(CATALOG_STATUSES).optional().describe('Default all but archived ones.'),
  ...pageFields(MOST_LISTED, MOST_LISTED),
});

/** What a list of either kind is asked for. */
export const listFilter = ({ scope, status, ...page }: z.output<typeof ListQuery>) => ({
  ...(scope === undefined ? {} : { scope }),
  ...(status === undefined ? {} : { status }),
  ...pageAsked(page, MOST_LISTED),
});

export const DeleteQuery = z.object({
  force: flagField.describe('Also while executions of it run; they go on. Without a value it is true.'),
});

export const StatusBody = z.object({
  status: z
    .enum(CATALOG_STATUSES)
    .describe('`paused`: starts nothing; `archived`: starts nothing and is not listed; `deployed`: back in service.'),
});

/** One step from where it is. */
export const ScopeBody = z.discriminatedUnion('action', [
  z.object({
    action: z.literal('promote'),
    target_scope: z.enum(['tenant', 'global']).default('global'),
  }),
  z.object({
    action: z.literal('demote'),
    target_scope: z.enum(['tenant', 'user']).default('tenant'),
    user_id: z.string().min(1).max(256).optional().describe('Owner, for scope user; default the caller.'),
  }),
]);
/** Answer to it; the id beside it is the kind's. */
export const ScopeAnswer = z.object({
  name: z.string(),
  target_scope: z.enum(SCOPES),
  promoted: z.literal(true).optional(),
  demoted: z.literal(true).optional(),
});
