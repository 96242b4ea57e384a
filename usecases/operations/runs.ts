import { z } from 'zod';
import { forkRun } from '../runs/fork-run.ts';
import { IdempotencyKey } from '../starts/start-keys.ts';
import { operation } from './operation.ts';
import { CallerHeaders, ExecutionIdParams, limitField, nextPageField } from './schemas/fields.ts';
import { nextOrTokenFields, pageByToken } from './schemas/paging.ts';
import { ForkBody, ForkedRun, RunSchema, runFilterFields, runFilterOf } from './schemas/runs.ts';

const MOST_LISTED = 1_000;

const nextText = 'Same as `next_page_token`; absent at the end. A page with few matches may be short and have it.';

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
        ...nextOrTokenFields,
      }),
    },
    answer: z.object({ runs: z.array(RunSchema), ...nextPageField, next: z.string().optional().describe(nextText) }),
    rest: { method: 'GET', path: '/v1/runs', style: 'coded' },
    commands: ['runs list'],
    handle: ({ runs }, { identity, query: { limit, next: token, page_token, ...conditions } }) =>
      pageByToken({ next: token, page_token }, (next) =>
        runs.list(identity, runFilterOf(conditions), { limit: Math.min(limit, MOST_LISTED), next }),
      ),
  }),
  operation({
    tag: 'runs',
    needs: ['agents', 'executions', 'workflows', 'forks'],
    name: 'runs.fork',
    summary: 'Start a new run from a message of another one',
    description:
      'Everything before the message comes from the record, and no ended effect is repeated; open work is opened ' +
      'again, and from then on the run is live. Without changes it continues as the original did. It counts as a start. A run ' +
      'that had ended at the message is 409; changes that do not fit are 422: docs/guides/fork.md.',
    access: 'run',
    input: {
      headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
      params: ExecutionIdParams,
      body: ForkBody,
    },
    answer: ForkedRun,
    rest: {
      method: 'POST',
      path: '/v1/runs/:id/fork',
      style: 'coded',
      also: [404, 409, 422],
    },
    commands: ['fork'],
    handle(ports, { identity, trace, headers, params, body: { message_id, ...changes } }) {
      const call = { ...changes, id: params.id, messageId: message_id };
      return forkRun(ports, call, { identity, trace, idempotencyKey: headers['idempotency-key'] });
    },
  }),
];
