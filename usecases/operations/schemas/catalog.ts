import { z } from 'zod';
import type { SearchHit, SearchRequest } from '../../../catalog/api.ts';
import { invalidField } from '../../../runtime/errors.ts';
import { limitField, nextPageField, pageAsked, pageFields, shareField, telling } from './fields.ts';

/** Schemas that agents and workflows share. */

export const SCOPES = ['user', 'tenant', 'global'] as const;

export const CATALOG_STATUSES = ['deployed', 'paused', 'archived'] as const;

/** Most entries of one list answer. */
const MOST_LISTED = 1_000;

/** A flag in a query: without a value it is true. */
export const flagField = z.enum(['', 'true', 'false']).optional();

export const isSet = (flag: string | undefined): boolean => flag === '' || flag === 'true';

export const DeployBody = z
  .strictObject({
    manifest_yaml: z.string().min(1),
    force: z.boolean().default(false).describe('Overwrites the same name and version.'),
    scope: z.enum(SCOPES).optional().describe('Default: tenant; global requires the operator role.'),
  })
  .meta({ id: 'DeployRequest' });

export const ValidateBody = z.strictObject({ manifest_yaml: z.string().min(1) });

export const DeployQuery = z.object({
  force: flagField.describe('Overwrite the same name and version; without a value it is true.'),
  scope: z.enum(SCOPES).optional().describe('Default: tenant; global requires the operator role.'),
});

export const ListQuery = z.object({
  scope: z
    .enum(['global', 'visible'])
    .optional()
    .describe('`global`: those of all tenants; `visible`: all the caller can run; default those of the tenant.'),
  status: z.enum(CATALOG_STATUSES).optional().describe('Default: all except archived.'),
  ...pageFields(MOST_LISTED, MOST_LISTED),
});

/** The filter of a list of agents or workflows, from its query. */
export const listFilter = ({ scope, status, ...page }: z.output<typeof ListQuery>) => ({
  scope,
  status,
  ...pageAsked(page, MOST_LISTED),
});

export const DeleteQuery = z.object({
  force: flagField.describe('Acts even while executions of it run; they continue. Without a value it is true.'),
});

export const StatusBody = z
  .strictObject({
    status: z
      .enum(CATALOG_STATUSES)
      .describe('`paused`: starts nothing; `archived`: starts nothing and is not listed; `deployed`: back in service.'),
  })
  .meta({ id: 'StatusRequest' });

/** Moves an entry by one scope: a promotion or a demotion. */
export const ScopeBody = z
  .discriminatedUnion('action', [
    z.strictObject({
      action: z.literal('promote'),
      target_scope: z.enum(['tenant', 'global']).default('global'),
    }),
    z.strictObject({
      action: z.literal('demote'),
      target_scope: z.enum(['tenant', 'user']).default('tenant'),
      user_id: z.string().min(1).max(256).optional().describe('Owner, for scope user; default: the caller.'),
    }),
  ])
  .meta({ id: 'ScopeRequest' });

/** The answer to a change of scope; the id of the entry is added for its kind. */
export const ScopeAnswer = z.object({
  name: z.string(),
  target_scope: z.enum(SCOPES),
  promoted: z.literal(true).optional(),
  demoted: z.literal(true).optional(),
});

/** An event of a log. */
export const LoggedEvent = z
  .object({
    sequence: z.number().int(),
    event_type: z.string(),
    payload: z.record(z.string(), z.unknown()),
    recorded_at: z.string(),
  })
  .meta({ id: 'LoggedEvent' });

/** Position of a page in the whole log. */
export const logPage = {
  total: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  ...nextPageField,
};

const MOST = 100;

const LABEL = /^([^:]{1,256}):(.{0,4096})$/s;

/** The labels of a query: `?label=team:docs&label=tier:gold`. */
const labels = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string().regex(LABEL, 'expected KEY:VALUE')).max(64),
);

/** The arguments of a search, as query of a URL (W38). */
export const SearchQuery = z.object({
  q: telling(4_096).describe('Search text in plain words.'),
  limit: limitField(10, MOST),
  min_score: shareField.default(0.3).describe('Only hits with at least this score, 0 to 1.'),
  status: z.enum(['deployed', 'paused', 'archived']).optional().describe('Default: deployed and paused.'),
  label: labels.default([]).describe('`KEY:VALUE`; may be repeated, and all must match.'),
  include_platform_templates: z
    .enum(['true', 'false'])
    .default('true')
    .describe('Built-in ones and those deployed for all tenants.'),
});

export const SearchResults = z
  .object({
    query: z.string(),
    results: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        version: z.string(),
        description: z.string(),
        labels: z.record(z.string(), z.string()),
        score: z.number().describe('0 to 1, best first.'),
      }),
    ),
    total: z.number().int(),
  })
  .meta({ id: 'SearchResults' });

/** Translates the query of a URL into a request to the catalog's search. */
export function searchOf(query: z.output<typeof SearchQuery>): SearchRequest {
  const pairs = query.label.map((text) => {
    const [, key, value] = LABEL.exec(text) ?? [];
    if (key === undefined || value === undefined) throw invalidField('label', 'expected KEY:VALUE');
    return [key, value] as const;
  });
  return {
    query: query.q,
    limit: Math.min(query.limit, MOST),
    minScore: query.min_score,
    labels: Object.fromEntries(pairs),
    status: query.status,
    includePlatformTemplates: query.include_platform_templates === 'true',
  };
}

export const resultsOf = (query: string, hits: readonly SearchHit[]) => ({
  query,
  results: hits.map((hit) => ({ ...hit, labels: { ...hit.labels } })),
  total: hits.length,
});
