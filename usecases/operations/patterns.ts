import { z } from 'zod';
import { operation } from './operation.ts';
import { nextPageField, pageAsked, pageFields, shareField, skipField, telling } from './schemas/fields.ts';

const MOST = 100;

export const PatternsQuery = z.object({
  error_signature: telling(4_096).optional().describe('Error to find solutions for; absent: all patterns are listed.'),
  error_type: telling(200).optional().describe('Only this type, ignoring case.'),
  min_success_score: shareField.optional().describe('Minimum success rate, 0 to 1. Applies only with error_signature.'),
  ...pageFields(10, MOST),
  skip: skipField.describe('Applies only without error_signature, as page_token does.'),
});

const MemoryPattern = z.object({
  pattern_id: z.string(),
  error_signature: z.string(),
  error_type: z.string(),
  solution_approach: z.string(),
  solution_code: z.string().optional(),
  success_score: z.number().describe('0 to 1; halves with each half-life since it was last stored.'),
  frequency: z.number().int().describe('Number of times it was stored.'),
});

const MemoryPatternList = z.object({ patterns: z.array(MemoryPattern), ...nextPageField });

/** The body of POST /v1/cortex/patterns: the fields of StoreMemoryPattern (G11). */
export const StorePatternBody = z.strictObject({
  error_signature: telling(4_096),
  error_type: telling(200),
  error_message: z.string().max(16_384).default(''),
  solution_approach: telling(16_384),
  solution_code: z.string().max(65_536).optional(),
  tags: z.array(telling(100)).max(32).default([]),
});

const StorePatternAnswer = z.object({
  pattern_id: z.string(),
  deduplicated: z.boolean().describe('True when an equivalent pattern existed; its weight was increased instead.'),
  new_frequency: z.number().int(),
});

const common = { tag: 'cortex', needs: ['patterns'] } as const;

/** Operations on patterns that were learned from errors (G11). */
export const PATTERN_OPERATIONS = [
  operation({
    ...common,
    name: 'patterns.list',
    summary: 'Find or list learned patterns',
    description:
      'With error_signature: solutions of similar errors, best first. Without it: all patterns, strongest first.',
    access: 'read',
    input: { query: PatternsQuery },
    answer: MemoryPatternList,
    rest: { method: 'GET', path: '/v1/cortex/patterns', style: 'coded', also: [409] },
    commands: ['pattern list', 'pattern query'],
    grpc: 'QueryMemoryPatterns',
    async handle({ patterns }, { identity: { tenant }, query }) {
      const { error_signature, error_type: errorType, min_success_score: minSuccessScore, ...asked } = query;
      const page = pageAsked(asked, MOST);
      if (error_signature === undefined) {
        const { items, ...next } = await patterns.list(tenant, { errorType, ...page });
        return { patterns: items, ...next };
      }
      const { limit } = page;
      const found = await patterns.query(tenant, {
        errorSignature: error_signature,
        errorType,
        minSuccessScore,
        limit,
      });
      return { patterns: [...found] };
    },
  }),
  operation({
    ...common,
    name: 'patterns.store',
    summary: 'Store an error and its solution',
    description: 'An equivalent pattern is counted once more instead.',
    access: 'write',
    input: { body: StorePatternBody },
    answer: StorePatternAnswer,
    rest: { method: 'POST', path: '/v1/cortex/patterns', style: 'coded', also: [409] },
    commands: ['pattern store'],
    grpc: 'StoreMemoryPattern',
    handle: ({ patterns }, { identity, body }) =>
      patterns.store(identity.tenant, {
        errorSignature: body.error_signature,
        errorType: body.error_type,
        errorMessage: body.error_message,
        solutionApproach: body.solution_approach,
        solutionCode: body.solution_code,
        tags: body.tags,
      }),
  }),
];
