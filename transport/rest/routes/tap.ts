import { z } from 'zod';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import { DeliveryRow } from '../../../usecases/operations/schemas/traces.ts';
import { StorageEventAnswer } from '../../../usecases/operations/schemas/volumes.ts';
import { OUTCOMES } from '../../../usecases/traces/delivery-row.ts';
import type { TapRecord } from '../../../usecases/traces/tap.ts';
import { ACCESS_ENDED, serveRecords, streamOptions } from '../event-route.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

z.union([
  z.object({ delivery: DeliveryRow.extend({ trace_id: z.string() }) }),
  z.object({ storage: StorageEventAnswer }),
  z.object({ dropped: z.number().int() }),
]).meta({ id: 'TapEvent' });

const TapRecordSchema = z.looseObject({
  data: z.string().meta({
    description:
      'A JSON object: {"delivery": …}, {"storage": …} for a storage event, or {"dropped": COUNT} for those that were skipped.',
    contentMediaType: 'application/json',
    contentSchema: { $ref: '#/components/schemas/TapEvent' },
  }),
});

const segment = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected a part of an address')
  .optional();

const tapSchema = {
  operationId: 'tap.stream',
  tags: ['traces'],
  summary: 'Follow deliveries and storage events live',
  description:
    'Server-sent events without end: deliveries as they are written to the ledger, about a second after their commit, and ' +
    `storage events. When the reader or the node is too slow some are skipped, and \`dropped\` says how many. ${ACCESS_ENDED}`,
  headers: CallerHeaders,
  querystring: z.object({
    kind: segment.describe('Kind of the actors; `volume`: storage events.'),
    actor: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}\/[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected kind/id')
      .optional()
      .describe('One actor: kind/id; `volume/ID`: storage events of one volume.'),
    type: z.string().min(1).max(200).optional().describe('Type of the messages, or name of a storage event.'),
    outcome: z.enum(OUTCOMES).optional(),
    trace: z
      .string()
      .regex(/^[0-9a-f]{32}$/, 'expected the id of a trace: 32 lower-case hex digits')
      .optional()
      .describe('One trace.'),
  }),
  response: {
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: TapRecordSchema } } },
    ...problemSchemas({ style: 'coded', also: [406, 409] }),
  },
};

/** GET /v1/tap. */
export function tapRoute(app: RestApp, parts: RestParts): void {
  const { tap } = parts;
  if (tap === undefined) return;
  const config = { access: 'read', problems: 'coded' } as const;
  app.get('/v1/tap', { config, schema: tapSchema, ...streamOptions('coded') }, async (request, reply) =>
    serveRecords(parts, request, reply, async (stream) =>
      textsOf(await tap.open(callerOf(request), request.query, stream)),
    ),
  );
}

async function* textsOf(records: AsyncIterable<readonly TapRecord[] | null>): AsyncGenerator<string | null> {
  for await (const some of records)
    yield some === null ? null : some.map((record) => `data: ${JSON.stringify(record)}\n\n`).join('');
}
