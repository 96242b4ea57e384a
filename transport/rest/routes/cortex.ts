import { z } from 'zod';
import type { Patterns } from '../../../catalog/patterns-api.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import {
  CallerHeaders,
  nextPageField,
  pageAsked,
  pageFields,
  shareField,
  skipField,
  telling,
} from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** /v1/cortex, where the node has learned patterns. */
export function cortexRoutes(app: RestApp, { patterns }: RestParts): void {
  if (patterns === undefined) return;
  listPatternsRoute(app, patterns);
  storePatternRoute(app, patterns);
}

const MOST = 100;

export const PatternsQuery = z.object({
  error_signature: telling(4_096).optional().describe('Finds what solved errors like it; without it all are listed.'),
  error_type: telling(200).optional().describe('Only of this type, whatever its case.'),
  min_success_score: shareField
    .optional()
    .describe('Only those that succeeded so often, 0 to 1. Counts with error_signature only.'),
  ...pageFields(10, MOST),
  skip: skipField.describe('Counts without error_signature only, as page_token does.'),
});

const MOST_PATTERNS = MOST;

const MemoryPattern = z.object({
  pattern_id: z.string(),
  error_signature: z.string(),
  error_type: z.string(),
  solution_approach: z.string(),
  solution_code: z.string().optional(),
  success_score: z.number().describe('0 to 1; halved by each half life since it was stored last.'),
  frequency: z.number().int().describe('How often it was stored.'),
});

const MemoryPatternList = z.object({ patterns: z.array(MemoryPattern), ...nextPageField });

/** Body of POST /v1/cortex/patterns: the fields of StoreMemoryPattern (G11). */
export const StorePatternBody = z.object({
  error_signature: telling(4_096),
  error_type: telling(200),
  error_message: z.string().max(16_384).default(''),
  solution_approach: telling(16_384),
  solution_code: z.string().max(65_536).optional(),
  tags: z.array(telling(100)).max(32).default([]),
});

const StorePatternAnswer = z.object({
  pattern_id: z.string(),
  deduplicated: z.boolean().describe('A pattern that means the same was there; it gained weight instead.'),
  new_frequency: z.number().int(),
});

const listPatternsSchema = {
  tags: ['cortex'],
  summary: 'Find or list learned patterns',
  description: 'With error_signature what solved errors like it, best first; without it all, strongest first.',
  headers: CallerHeaders,
  querystring: PatternsQuery,
  response: { 200: MemoryPatternList, ...problemSchemas({ style: 'coded', also: [409] }) },
};

/** GET /v1/cortex/patterns. */
function listPatternsRoute(app: RestApp, patterns: Patterns): void {
  app.get('/v1/cortex/patterns', { config: { access: 'read' }, schema: listPatternsSchema }, async (request) => {
    const { tenant } = callerOf(request);
    const { error_signature, error_type, min_success_score, ...asked } = request.query;
    const page = pageAsked(asked, MOST_PATTERNS);
    const ofType = error_type === undefined ? {} : { errorType: error_type };
    if (error_signature === undefined) {
      const { items, ...next } = await patterns.list(tenant, { ...ofType, ...page });
      return { patterns: items, ...next };
    }
    const least = min_success_score === undefined ? {} : { minSuccessScore: min_success_score };
    const { limit } = page;
    const found = await patterns.query(tenant, { errorSignature: error_signature, ...ofType, ...least, limit });
    return { patterns: [...found] };
  });
}

const storePatternSchema = {
  tags: ['cortex'],
  summary: 'Store an error and what solved it',
  description: 'A pattern that means the same is counted once more instead.',
  headers: CallerHeaders,
  body: StorePatternBody,
  response: { 200: StorePatternAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** POST /v1/cortex/patterns. */
function storePatternRoute(app: RestApp, patterns: Patterns): void {
  app.post('/v1/cortex/patterns', { config: { access: 'write' }, schema: storePatternSchema }, async (request) => {
    const { solution_code, ...body } = request.body;
    return patterns.store(callerOf(request).tenant, {
      errorSignature: body.error_signature,
      errorType: body.error_type,
      errorMessage: body.error_message,
      solutionApproach: body.solution_approach,
      ...(solution_code === undefined ? {} : { solutionCode: solution_code }),
      tags: body.tags,
    });
  });
}
