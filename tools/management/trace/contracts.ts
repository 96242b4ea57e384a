import { z } from 'zod';
import { MOST_NEXT_CHARS } from '../../../runtime/ledger/ledger-reader.ts';
import { anyObject, executionId, limit, time } from '../../../usecases/fields.ts';
import { defineContract, reading, toolArguments } from '../../contract/arguments.ts';

/** Most deliveries of one answer. */
const MOST_DELIVERIES = 1_000;

export const traceWhy = defineContract({
  ...reading,
  name: 'svc.trace.why',
  description:
    'Says why an execution or a workflow run waits, or why it ended so: one sentence, and the chain of links from the ' +
    'run to the last cause, which is last.',
  input: toolArguments({ execution_id: executionId }),
  result: z.strictObject({ waiting: z.boolean(), sentence: z.string(), chain: z.array(anyObject) }),
});

export const traceGet = defineContract({
  ...reading,
  name: 'svc.trace.get',
  description:
    'Shows what happened in an execution or a workflow run, message by message: the deliveries and effects of its trace, ' +
    'in the order of time.',
  input: toolArguments({
    execution_id: executionId,
    trace_id: z
      .string()
      .regex(/^[0-9a-f]{32}$/, 'expected the id of a trace: 32 lower-case hex digits')
      .optional()
      .describe(
        'A trace that `links` names, such as the one in which a long run goes on. Default: the one of its start.',
      ),
    limit: limit(100, MOST_DELIVERIES),
    next: z.string().min(1).max(MOST_NEXT_CHARS).optional().describe('`next` of the page before.'),
  }),
  // The same fields as in GET /v1/traces/{trace_id}.
  result: z.strictObject({
    trace_id: z.string(),
    root: z.string().nullable(),
    status: z.enum(['running', 'completed', 'failed', 'cancelled']),
    started_at: time,
    ended_at: time.nullable(),
    links: z.array(anyObject),
    kept_from: time.optional(),
    deliveries: z.array(anyObject),
    effects: z.array(anyObject),
    next: z.string().nullable(),
  }),
});

export const TRACE_CONTRACTS = [traceWhy, traceGet] as const;
