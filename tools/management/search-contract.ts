import { z } from 'zod';
import type { SearchHit, SearchRequest } from '../../catalog/api.ts';
import { count, labels, limit } from '../../usecases/fields.ts';

/** Arguments and results of svc.agent.search and svc.workflow.search (W38). */

/** Most hits of one search. */
const MAX_HITS = 100;
/** Longest query, in characters; the same limit as in the catalog. */
const QUERY_CHARS = 4_096;

export const searchArguments = {
  query: z.string().trim().min(1).max(QUERY_CHARS).describe('Search text in plain words.'),
  limit: limit(10, MAX_HITS),
  min_score: z.number().min(0).max(1).default(0.3).describe('Minimum similarity, 0 to 1.'),
  labels: z.record(z.string(), z.string()).optional().describe('All pairs must match.'),
  include_platform_templates: z.boolean().default(true).describe('Includes built-in ones.'),
};

export const searchResult = <Name extends string>(tool: Name) =>
  z.strictObject({
    tool: z.literal(tool),
    query: z.string(),
    results: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        version: z.string(),
        description: z.string(),
        labels,
        score: z.number().min(0).max(1),
      }),
    ),
    total: count,
  });

interface Asked {
  readonly query: string;
  readonly limit: number;
  readonly min_score: number;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly status?: string | undefined;
  readonly include_platform_templates: boolean;
}

/** Translates the arguments into a request for `CatalogSearch`. */
export const requestOf = (asked: Asked): SearchRequest => ({
  query: asked.query,
  limit: asked.limit,
  minScore: asked.min_score,
  includePlatformTemplates: asked.include_platform_templates,
  labels: asked.labels,
  status: asked.status,
});

export const searchAnswer = (tool: string, { query }: Asked, hits: readonly SearchHit[]) => ({
  tool,
  query,
  results: hits.map(({ id, name, version, description, labels: pairs, score }) => ({
    id,
    name,
    version,
    description,
    labels: pairs,
    score,
  })),
  total: hits.length,
});
