import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import { type Action, type Caller, requireScope, type ScopeArea } from '../../../security/api.ts';
import { FEED_TOPICS, type FeedRecord, type FeedTopic } from '../../../usecases/feed/feed.ts';
import { parseFeedId } from '../../../usecases/feed/feed-id.ts';
import { CallerHeaders, ExecutionId } from '../../../usecases/operations/schemas/fields.ts';
import { RunSchema, runFilterFields, runFilterOf, several } from '../../../usecases/operations/schemas/runs.ts';
import { ACCESS_ENDED, serveRecords, streamOptions } from '../event-route.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, keyedCallerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

const RunKey = z.object({ id: z.string(), kind: z.string() });

/** Contents of the records by name. They are described and not checked. */
const CONTENTS = {
  open: z.object({}).describe('The first record of a new feed: read the lists now, everything later is sent.'),
  reset: z.object({ reason: z.string() }).describe('The missed changes are no longer stored: read the lists again.'),
  place: z.object({}).describe('A record without content, whose id is a newer place to resume from.'),
  run: RunSchema.describe('A run that began or changed and meets the conditions.'),
  run_left: RunKey.describe('A run that meets the conditions no longer, or not yet.'),
  run_removed: RunKey,
  approval: z
    .object({
      id: z.string(),
      status: z.enum(['pending', 'answered', 'expired', 'withdrawn']),
      execution_id: z.string(),
      state_name: z.string(),
      prompt: z.string(),
      created_at: z.string(),
      timeout_seconds: z.number(),
      resolved_at: z.string().nullable(),
    })
    .describe('An approval that was asked for, answered, withdrawn, or has expired.'),
  node: z
    .object({
      node_id: z.string(),
      status: z.enum(['up', 'draining', 'gone']),
      incarnation: z.string(),
      role: z.string().nullable(),
      tags: z.array(z.string()),
      version: z.string().nullable(),
      partitions: z.record(z.string(), z.number()),
    })
    .describe('All nodes at the start of each connection, then each that changes.'),
  run_event: z
    .object({ id: z.string(), kind: z.string(), sequence: z.number(), event: z.record(z.string(), z.unknown()) })
    .describe('An event of the followed run, as its own stream has it.'),
};

z.union(Object.entries(CONTENTS).map(([name, content]) => z.object({ [name]: content }))).meta({ id: 'FeedEvent' });

/** The area that a key needs for a topic; those of the route itself hold too. */
const TOPIC_SCOPES = {
  run: ['executions', 'read'],
  approval: ['approvals', 'read'],
  node: ['cluster', 'inspect'],
} as const satisfies Record<FeedTopic, readonly [ScopeArea, Action]>;

/** The topics of a call: those that it names, else runs, and approvals when its key reaches them. */
function topicsOf(caller: Caller, named: readonly FeedTopic[] | undefined): readonly FeedTopic[] {
  for (const topic of named ?? []) {
    const [area, action] = TOPIC_SCOPES[topic];
    requireScope(caller, area, action);
  }
  if (named !== undefined) return named;
  return mayReadApprovals(caller) ? ['run', 'approval'] : ['run'];
}

function mayReadApprovals(caller: Caller): boolean {
  try {
    requireScope(caller, ...TOPIC_SCOPES.approval);
    return true;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'forbidden') return false;
    throw thrown;
  }
}

const FeedEventRecord = z.looseObject({
  id: z.string().describe('Where to resume; begins with the number of the record: 1, 2, 3 … over all connections.'),
  event: z.string().describe('The name of the record.'),
  data: z.string().meta({
    description: 'A JSON object whose one key is the name of the record.',
    contentMediaType: 'application/json',
    contentSchema: { $ref: '#/components/schemas/FeedEvent' },
  }),
});

const lastId = z.string().max(200).optional();

const feedSchema = {
  operationId: 'feed.stream',
  tags: ['runs'],
  summary: 'Follow the changes of runs, approvals and nodes live',
  description:
    'Server-sent events without end. Resume with the id of the last record: nothing in between is missed, on any node. A ' +
    'reader too far behind gets `reset` and reads the lists again. A record may come twice. The conditions are those of ' +
    `the list of runs. ${ACCESS_ENDED}`,
  headers: CallerHeaders.extend({
    'last-event-id': lastId.describe('Id of the last record that the client has; the feed resumes after it.'),
  }),
  querystring: z.object({
    topic: several(z.enum(FEED_TOPICS)).describe(
      'Default: run and approval; node needs the right to see the fleet. A key needs the scope of each.',
    ),
    ...runFilterFields,
    run: ExecutionId.optional().describe('Run whose events are sent too.'),
    last_event_id: lastId.describe('Same as the header Last-Event-ID, for clients that cannot set headers.'),
  }),
  response: {
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: FeedEventRecord } } },
    ...problemSchemas({ style: 'coded', also: [404, 406] }),
  },
};

/** GET /v1/feed. */
export function feedRoute(app: RestApp, parts: RestParts): void {
  const { feed } = parts;
  if (feed === undefined) return;
  const options = {
    config: { access: 'read', problems: 'coded' } as const,
    schema: feedSchema,
    ...streamOptions('coded'),
  };
  app.get('/v1/feed', options, async (request, reply) => {
    const { topic, run, last_event_id, ...conditions } = request.query;
    const after = request.headers['last-event-id'] || last_event_id;
    const asked = {
      topics: topicsOf(keyedCallerOf(request), topic),
      filter: runFilterOf(conditions),
      followed: run,
      after: after === undefined || after === '' ? undefined : parseFeedId(after),
    };
    return serveRecords(parts, request, reply, async (stream) =>
      textsOf(await feed.open(callerOf(request), asked, stream)),
    );
  });
}

async function* textsOf(records: AsyncIterable<FeedRecord | null>): AsyncGenerator<string | null> {
  for await (const record of records) yield record === null ? null : textOf(record);
}

const textOf = ({ id, name, content }: FeedRecord): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify({ [name]: content })}\n\n`;
