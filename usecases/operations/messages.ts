import { z } from 'zod';
import { OUTCOMES } from '../traces/delivery-row.ts';
import { MOST_DEPTH } from '../traces/messages.ts';
import { operation } from './operation.ts';
import { limitField } from './schemas/fields.ts';
import { DeliveryRow, keptFromField } from './schemas/traces.ts';

const MessageParams = z.object({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,299}$/, 'expected the id of a message')
    .describe('Id of a message.'),
});

const Message = z
  .object({
    message_id: z.string(),
    trace_id: z.string(),
    cause_id: z.string().nullable().describe('Message whose turn sent this one; null for a call of a client.'),
    from: z.string().nullable(),
    to: z.string(),
    type: z.string(),
    origin: z.enum(['client', 'actor', 'timer', 'effect']),
    effect_id: z.string().nullable().describe('Effect whose result or progress it is.'),
    caller: z
      .object({ kind: z.string(), subject: z.string() })
      .nullable()
      .describe('Caller whose call it follows from.'),
    payload: z.unknown().describe('Without secrets; null when it is omitted or was removed with its actor.'),
    payload_chars: z.number().int(),
    payload_omitted: z.literal(true).optional().describe('The payload is larger than 1 MiB and not shown.'),
    outcome: z.enum(OUTCOMES).describe('Of the last attempt.'),
    attempts: z
      .array(
        z.object({
          attempt: z.number().int(),
          at: z.string().describe('ISO 8601.'),
          wait_ms: z.number(),
          turn_ms: z.number(),
          node: z.string().nullable(),
          epoch: z.number().int(),
          outcome: z.enum(OUTCOMES),
          error: z.string().nullable(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'Message' });

const MessageChain = z
  .object({
    message_id: z.string(),
    deliveries: z
      .array(DeliveryRow.extend({ depth: z.number().int().describe('Distance from the message that was asked for.') }))
      .readonly()
      .describe('The last attempt of each message, nearest first.'),
    cut: z.boolean().describe('More messages exist beyond the depth, or beyond 1,000 messages.'),
    ...keptFromField,
  })
  .meta({ id: 'MessageChain' });

const common = { tag: 'traces', access: 'read', needs: ['messages'] } as const;

const behind = (path = '') =>
  ({
    method: 'GET',
    path: `/v1/messages/:id${path}`,
    style: 'coded',
    texts: { notFound: 'message not found' },
    also: [404, 409],
  }) as const;

const query = z.object({ depth: limitField(5, MOST_DEPTH).describe(`Most messages in a row; at most ${MOST_DEPTH}.`) });

/** Operations on single messages of the ledger. */
export const MESSAGE_OPERATIONS = [
  operation({
    ...common,
    name: 'messages.get',
    summary: 'Show a message with its outcome',
    input: { params: MessageParams },
    answer: Message,
    rest: behind(),
    commands: ['message show'],
    handle: ({ messages }, { identity, params }) => messages.get(identity, params.id),
  }),
  operation({
    ...common,
    name: 'messages.list_causes',
    summary: 'List the messages that led to a message',
    input: { params: MessageParams, query },
    answer: MessageChain,
    rest: behind('/causes'),
    commands: ['message causes'],
    handle: ({ messages }, { identity, params, query: { depth } }) =>
      messages.causes(identity, params.id, Math.min(depth, MOST_DEPTH)),
  }),
  operation({
    ...common,
    name: 'messages.list_effects',
    summary: 'List the messages that followed from a message',
    input: { params: MessageParams, query },
    answer: MessageChain,
    rest: behind('/effects'),
    commands: ['message effects'],
    handle: ({ messages }, { identity, params, query: { depth } }) =>
      messages.effects(identity, params.id, Math.min(depth, MOST_DEPTH)),
  }),
];
