import { z } from 'zod';
import { operation } from './operation.ts';

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

export const Actor = z
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
];
