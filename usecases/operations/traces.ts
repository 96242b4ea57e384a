import { z } from 'zod';
import { TRACE_STATUSES } from '../traces/trace-status.ts';
import { operation } from './operation.ts';
import { limitField, nextPageField } from './schemas/fields.ts';
import { nextOrTokenFields, pageByToken } from './schemas/paging.ts';
import { CriticalPath, keptFromField, TraceIdParams, TraceRow, TraceSummary } from './schemas/traces.ts';

const MOST_LISTED = 200;

const common = { tag: 'traces', access: 'read', needs: ['traces'] } as const;

const texts = { notFound: 'trace not found' };

const behind = (path: string) => ({ method: 'GET', path: `/v1/traces${path}`, style: 'coded', texts }) as const;

const name = (what: string) => z.string().min(1).max(200).optional().describe(what);

const time = (what: string) => z.iso.datetime({ offset: true }).optional().describe(what);

const DIGITS = /^\d{1,12}$/;

const WHOLE_MS = { error: 'expected a whole number of milliseconds, 0 or more' };

const wholeMs = (what: string) =>
  z
    .preprocess(
      (value) => (typeof value === 'string' && DIGITS.test(value) ? Number(value) : value),
      z.number(WHOLE_MS).int(WHOLE_MS).min(0, WHOLE_MS).optional(),
    )
    .describe(what);

const unixMs = (iso: string | undefined): number | undefined => (iso === undefined ? undefined : Date.parse(iso));

/** Operations on traces. REST serves `traces.get` by itself, since it can stream. */
export const TRACE_OPERATIONS = [
  operation({
    ...common,
    name: 'traces.list',
    summary: 'List traces, newest first',
    description:
      'One row for each client call. The work of a call is bounded: a page may be short, or empty, although `next` says that more follows.',
    input: {
      query: z.object({
        from: time('Only traces that began at this time or later.'),
        to: time('Only traces that began at this time or earlier.'),
        kind: name('Kind of the actor that the root went to.'),
        name: name('Name of the agent or workflow.'),
        status: z.enum(TRACE_STATUSES).optional(),
        min_duration_ms: wholeMs('Shortest duration. Running traces have none.'),
        max_duration_ms: wholeMs('Longest duration.'),
        error_code: name('Code of the failure.'),
        node: name('Node that handled the root.'),
        actor_kind: name('A kind of actors that got a delivery.'),
        text: name('Part of a name, id, error, or of the payload of the root.'),
        limit: limitField(50, MOST_LISTED),
        ...nextOrTokenFields,
      }),
    },
    answer: z.object({
      traces: z.array(TraceRow).readonly(),
      next: z.string().nullable().describe('For ?next=; null at the end.'),
      ...nextPageField,
      ...keptFromField,
    }),
    rest: behind(''),
    commands: ['trace list'],
    handle({ traces }, { identity, query }) {
      const { from, to, min_duration_ms, max_duration_ms, error_code, actor_kind, limit, ...given } = query;
      const { next: token, page_token, ...rest } = given;
      return pageByToken({ next: token, page_token }, (next) =>
        traces.list(identity, {
          ...rest,
          next,
          limit: Math.min(limit, MOST_LISTED),
          from: unixMs(from),
          to: unixMs(to),
          leastMs: min_duration_ms,
          mostMs: max_duration_ms,
          errorCode: error_code,
          actorKind: actor_kind,
        }),
      );
    },
  }),
  operation({
    ...common,
    name: 'traces.get_critical_path',
    summary: 'Show the critical path of a trace',
    description: 'The chain of causes that ended last, as stretches of time without gaps.',
    input: { params: TraceIdParams },
    answer: CriticalPath,
    rest: { ...behind('/:trace_id/critical-path'), also: [404, 409] },
    commands: ['trace critical-path'],
    handle: ({ traces }, { identity, params }) => traces.criticalPath(identity, params.trace_id),
  }),
  operation({
    ...common,
    name: 'traces.get_summary',
    summary: 'Show how the time of a trace was spent',
    input: { params: TraceIdParams },
    answer: TraceSummary,
    rest: { ...behind('/:trace_id/summary'), also: [404, 409] },
    commands: ['trace summary'],
    handle: ({ traces }, { identity, params }) => traces.summary(identity, params.trace_id),
  }),
];
