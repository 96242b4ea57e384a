import { Readable } from 'node:stream';
import { z } from 'zod';
import { CallerHeaders, limitField } from '../../../usecases/operations/schemas/fields.ts';
import { nextOrTokenFields, pageByToken } from '../../../usecases/operations/schemas/paging.ts';
import { Trace, TraceIdParams } from '../../../usecases/operations/schemas/traces.ts';
import { MOST_OF_PAGE, type TracePage } from '../../../usecases/traces/trace.ts';
import { streamOwner } from '../../open-streams.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

const LINES = 'application/x-ndjson';

const getTraceSchema = {
  operationId: 'traces.get',
  tags: ['traces'],
  summary: 'Show a trace: its deliveries and effects',
  description:
    `In the order of time, page by page. With \`Accept: ${LINES}\` the whole trace as lines: ` +
    '`{"trace": …}` first, then `{"delivery": …}` and `{"effect": …}`.',
  headers: CallerHeaders.extend({ accept: z.string().optional() }),
  params: TraceIdParams,
  querystring: z.object({ limit: limitField(MOST_OF_PAGE, MOST_OF_PAGE), ...nextOrTokenFields }),
  response: {
    200: {
      description: 'A page of the trace, or all of it as lines.',
      content: { 'application/json': { schema: Trace }, [LINES]: { schema: z.unknown() } },
    },
    ...problemSchemas({ style: 'coded', also: [404, 409] }),
  },
};

/** GET /v1/traces/{trace_id}. */
export function traceRoutes(app: RestApp, { traces, streams }: RestParts): void {
  if (traces === undefined) return;
  const config = { access: 'read', problems: 'coded', texts: { notFound: 'trace not found' } } as const;
  app.get('/v1/traces/:trace_id', { config, schema: getTraceSchema }, async (request, reply) => {
    const { trace_id: trace } = request.params;
    const caller = callerOf(request);
    const { limit, ...token } = request.query;
    if (!wantsLines(request.headers.accept)) {
      return pageByToken(token, (next) => traces.page(caller, trace, { limit: Math.min(limit, MOST_OF_PAGE), next }));
    }
    const pages = traces.pages(caller, trace);
    // Read before the answer begins, so that an unknown trace is 404.
    const first = await pages.next();
    const open = streams.open(streamOwner(caller));
    const lines = Readable.from(linesOf(first.done === true ? [] : [first.value], pages), { signal: open.signal });
    lines.once('close', () => open[Symbol.dispose]());
    return reply.type(LINES).send(lines);
  });
}

const wantsLines = (accept: string | undefined): boolean =>
  accept?.split(',').some((part) => part.split(';')[0]?.trim() === LINES) === true;

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** The lines of a trace; each page is one chunk. */
async function* linesOf(first: readonly TracePage[], rest: AsyncIterable<TracePage>): AsyncGenerator<string> {
  for (const page of first) {
    const { deliveries, effects, next: _next, ...trace } = page;
    yield line({ trace }) + rowsOf({ deliveries, effects });
  }
  for await (const page of rest) yield rowsOf(page);
}

const rowsOf = ({ deliveries, effects }: Pick<TracePage, 'deliveries' | 'effects'>): string =>
  [...deliveries.map((delivery) => line({ delivery })), ...effects.map((effect) => line({ effect }))].join('');
