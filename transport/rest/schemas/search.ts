import { z } from 'zod';
import type { SearchHit, SearchRequest } from '../../../catalog/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { limitField, shareField, telling } from './fields.ts';

const MOST = 100;
const LABEL = /^([^:]{1,256}):(.{0,4096})$/s;

/** `?label=team:docs&label=tier:gold`. */
const labels = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string().regex(LABEL, 'expected KEY:VALUE')).max(64),
);

/** Arguments of a search in the query of its URL (spec 3, svc.agent.search). */
export const SearchQuery = z.object({
  q: telling(4_096).describe('What is looked for, in words.'),
  limit: limitField(10, MOST),
  min_score: shareField.default(0.3).describe('Only hits with at least this score, 0 to 1.'),
  status: z.enum(['deployed', 'paused', 'archived']).optional().describe('Default: deployed and paused ones.'),
  label: labels.default([]).describe('`KEY:VALUE`; may be there several times, and all must match.'),
  include_platform_templates: z
    .enum(['true', 'false'])
    .default('true')
    .describe('What ships with the product, and what is deployed for all tenants.'),
});

export const SearchResults = z.object({
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
});

/** The catalog's request of what stands in the URL. */
export function searchOf(query: z.output<typeof SearchQuery>): SearchRequest {
  const pairs = query.label.map((text) => {
    const [, key, value] = LABEL.exec(text) ?? [];
    if (key === undefined || value === undefined)
      throw new SvcError('invalid_argument', 'label: expected KEY:VALUE', { field: 'label' });
    return [key, value] as const;
  });
  return {
    query: query.q,
    limit: Math.min(query.limit, MOST),
    minScore: query.min_score,
    labels: Object.fromEntries(pairs),
    ...(query.status === undefined ? {} : { status: query.status }),
    includePlatformTemplates: query.include_platform_templates === 'true',
  };
}

export const resultsOf = (query: string, hits: readonly SearchHit[]) => ({
  query,
  results: hits.map((hit) => ({ ...hit, labels: { ...hit.labels } })),
  total: hits.length,
});
