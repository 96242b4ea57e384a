import { z } from 'zod';
import { WAIT_REASONS } from '../../runtime/calls/waiting-messages.ts';
import { TURN_PARTS } from '../../runtime/turns/digest.ts';
import { MOST_REPLAYED } from '../traces/actor-lines.ts';
import { operation } from './operation.ts';
import { limitField, nextPageField, pageTokenField } from './schemas/fields.ts';
import { nextOrTokenFields, pageByToken } from './schemas/paging.ts';
import { DeliveryRow, keptFromField } from './schemas/traces.ts';

/** A part of an address (runtime/address.ts). */
const segment = (what: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, `expected ${what}`)
    .describe(what);

const ActorParams = z.object({
  kind: segment('the kind of an actor, such as execution or workflow'),
  id: segment('the id of an actor'),
});

const time = z.string().describe('ISO 8601.');

const OpenEffect = z
  .object({
    effect_id: z.string(),
    kind: z.string().nullable().describe('Such as model.generate.'),
    message_id: z.string().nullable().describe('Message whose turn requested it.'),
    status: z
      .enum(['open', 'started', 'retrying'])
      .describe('open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at.'),
    attempt: z.number().int(),
    node: z.string().nullable(),
    retry_at: time.nullable(),
    last_error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Why the attempt before failed.'),
  })
  .meta({ id: 'OpenEffect' });

const Actor = z
  .object({
    address: z.string().describe('kind/tenant/id.'),
    kind: z.string(),
    id: z.string(),
    state: z.unknown().describe('Committed state without secrets; null when it is omitted.'),
    state_chars: z.number().int().describe('Characters of the state as JSON.'),
    state_omitted: z.literal(true).optional().describe('The state is larger than 1 MiB and not shown.'),
    revision: z.number().int().describe('Number of turns that changed it.'),
    last_event: z.number().int(),
    archived: z.boolean().describe('It has ended and left the store.'),
    partition: z.string(),
    pool: z.string(),
    node: z.string().nullable().describe('Node that serves its partition; null while none does, and once archived.'),
    mailbox: z.object({
      depth: z.number().int().describe('Client messages that wait for it.'),
      oldest_at: time.nullable().describe('Oldest message that waits in its partition; null at depth 0.'),
    }),
    timers: z.array(z.object({ name: z.string(), due_at: time.nullable() })).readonly(),
    effects: z.array(OpenEffect).readonly().describe('Effects that have not ended.'),
    stuck: z
      .object({ message_type: z.string(), error: z.string(), attempts: z.number().int() })
      .nullable()
      .describe('A message that keeps failing; the messages behind it wait.'),
  })
  .meta({ id: 'Actor' });

const common = { tag: 'actors', access: 'read', needs: ['actors'] } as const;

const texts = { notFound: 'actor not found' };

const messageId = (what: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,299}$/, 'expected the id of a message')
    .describe(what);

const differs = z
  .object({
    message_id: z.string(),
    parts: z
      .array(z.enum(['outcome', ...TURN_PARTS]))
      .readonly()
      .describe('What differs in its turn.'),
  })
  .nullable()
  .describe('The first message at which the replay differs from what was recorded; null when it does not.');

const History = z
  .object({
    address: z.string(),
    deliveries: z.array(DeliveryRow).readonly(),
    next: z.string().nullable().describe('For ?next=; null at the end.'),
    ...nextPageField,
    ...keptFromField,
  })
  .meta({ id: 'ActorHistory' });

const StateAt = z
  .object({
    address: z.string(),
    message_id: z.string(),
    at: time,
    revision: z.number().int(),
    last_event: z.number().int(),
    state: z.unknown().describe('State after the message, without secrets; null when it is omitted.'),
    state_chars: z.number().int(),
    state_omitted: z.literal(true).optional().describe('The state is larger than 1 MiB and not shown.'),
    differs,
  })
  .meta({ id: 'ActorStateAt' });

const Diff = z
  .object({
    address: z.string(),
    from: z.string().nullable().describe('Null: just before the message `to`.'),
    to: z.string(),
    changes: z
      .array(
        z.object({
          path: z.string().describe('JSON Pointer.'),
          kind: z.enum(['added', 'removed', 'changed']),
          before: z.unknown(),
          after: z.unknown(),
        }),
      )
      .readonly(),
    cut: z.boolean().describe('There are more than 1,000 changes.'),
    differs,
  })
  .meta({ id: 'ActorStateDiff' });

const WaitingMessage = z
  .object({
    message_id: z.string(),
    cause_id: z.string().nullable().describe('Message whose turn sent this one.'),
    trace_id: z.string(),
    from: z.string().nullable().describe('Address of the sender; null for a client and for an effect.'),
    type: z.string(),
    origin: z.enum(['client', 'actor', 'timer', 'effect']),
    reason: z
      .enum(WAIT_REASONS)
      .describe(
        'unread: the messages before it come first; postponed: its actor is loaded slowly; failing: it failed and is tried again; deferred: it waits behind one that fails.',
      ),
    at: time.nullable().describe('When it was appended; null for failing and deferred ones.'),
  })
  .meta({ id: 'WaitingMessage' });

const Mailbox = z
  .object({
    address: z.string(),
    messages: z.array(WaitingMessage).readonly().describe('Oldest first. May be fewer than asked for on any page.'),
    ...nextPageField,
  })
  .meta({ id: 'WaitingMessages' });

const MOST_LISTED = 1_000;

const past = { tag: 'actors', access: 'read', needs: ['actorHistory'] } as const;

const behind = (path: string) =>
  ({ method: 'GET', path: `/v1/actors/:kind/:id${path}`, style: 'coded', also: [404, 409] }) as const;

/** Operations that show single actors. */
export const ACTOR_OPERATIONS = [
  operation({
    ...common,
    name: 'actors.get',
    summary: 'Show an actor',
    description: 'Its committed state, mailbox, timers and open effects, and the node that serves it.',
    input: { params: ActorParams },
    answer: Actor,
    rest: { method: 'GET', path: '/v1/actors/:kind/:id', style: 'coded', texts, also: [404] },
    commands: ['actor show'],
    handle: ({ actors }, { identity, params }) => actors.get(identity, params.kind, params.id),
  }),
  operation({
    ...common,
    needs: ['actorMailbox'],
    name: 'actors.list_mailbox',
    summary: 'List the messages that wait for an actor',
    description:
      'Without their payloads. It reads the log of the partition, so a page may be short, or empty, although another follows.',
    input: {
      params: ActorParams,
      query: z.object({ limit: limitField(100, MOST_LISTED), page_token: pageTokenField }),
    },
    answer: Mailbox,
    rest: { method: 'GET', path: '/v1/actors/:kind/:id/mailbox', style: 'coded', texts, also: [404] },
    commands: ['actor mailbox'],
    handle: ({ actorMailbox }, { identity, params: { kind, id }, query }) =>
      actorMailbox.list(identity, kind, id, {
        limit: Math.min(query.limit, MOST_LISTED),
        pageToken: query.page_token,
      }),
  }),
  operation({
    ...past,
    name: 'actors.list_history',
    summary: 'List the deliveries to an actor',
    input: {
      params: ActorParams,
      query: z.object({
        order: z.enum(['oldest_first', 'newest_first']).default('oldest_first'),
        limit: limitField(100, MOST_LISTED),
        ...nextOrTokenFields,
      }),
    },
    answer: History,
    rest: { ...behind('/history'), texts },
    commands: ['actor history'],
    handle: ({ actorHistory }, { identity, params: { kind, id }, query: { order, limit, ...asked } }) =>
      pageByToken(asked, (next) =>
        actorHistory.history(identity, kind, id, {
          limit: Math.min(limit, MOST_LISTED),
          next,
          newestFirst: order === 'newest_first',
        }),
      ),
  }),
  operation({
    ...past,
    name: 'actors.get_state',
    summary: 'Show the state of an actor after a message',
    description: `Rebuilt by a replay of at most ${MOST_REPLAYED} deliveries.`,
    input: { params: ActorParams, query: z.object({ at: messageId('A message that the actor got.') }) },
    answer: StateAt,
    rest: behind('/state'),
    commands: ['actor state'],
    handle: ({ actorHistory }, { identity, params, query }) =>
      actorHistory.stateAt(identity, params.kind, params.id, query.at),
  }),
  operation({
    ...past,
    name: 'actors.get_diff',
    summary: 'Show what changed in the state of an actor between two messages',
    input: {
      params: ActorParams,
      query: z.object({
        from: messageId('State after this message; default: just before `to`.').optional(),
        to: messageId('State after this message.'),
      }),
    },
    answer: Diff,
    rest: behind('/diff'),
    commands: ['actor diff'],
    handle: ({ actorHistory }, { identity, params, query }) =>
      actorHistory.diff(identity, params.kind, params.id, query),
  }),
];
