import { z } from 'zod';
import { MOST_TOKEN_CHARS } from '../../runtime/documents/pages.ts';
import { operation } from './operation.ts';
import { limitField } from './schemas/fields.ts';
import { RunSchema, runFilterFields, runFilterOf } from './schemas/runs.ts';

const MOST_LISTED = 1_000;

const nextText =
  'Pass it as `next` for the page behind this one; absent at the end. A page with few matches may be short and have it.';

/** Operations on executions of agents and runs of workflows together. */
export const RUN_OPERATIONS = [
  operation({
    tag: 'runs',
    needs: ['runs'],
    name: 'runs.list',
    summary: 'List executions of agents and workflows, newest first',
    access: 'read',
    input: {
      query: z.object({
        ...runFilterFields,
        limit: limitField(50, MOST_LISTED),
        next: z
          .string()
          .min(1)
          .max(MOST_TOKEN_CHARS)
          .optional()
          .describe('`next` of the page before, under the same conditions.'),
      }),
    },
    answer: z.object({ runs: z.array(RunSchema), next: z.string().optional().describe(nextText) }),
    rest: { method: 'GET', path: '/v1/runs', style: 'coded' },
    commands: ['runs list'],
    handle({ runs }, { identity, query: { limit, next, ...conditions } }) {
      return runs.list(identity, runFilterOf(conditions), { limit: Math.min(limit, MOST_LISTED), next });
    },
  }),
];
