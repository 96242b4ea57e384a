import { z } from 'zod';
import { LETTER_STATUSES, MOST_REPLAYS } from '../traces/dead-letters.ts';
import { operation } from './operation.ts';
import { limitField, nextPageField, pageTokenField, telling } from './schemas/fields.ts';

const MOST_LISTED = 200;

const MOST_REASON_CHARS = 2_000;

const time = z.string().describe('ISO 8601.');

const step = {
  at: time,
  by: z.string().describe('Subject of the caller.'),
  reason: z.string().nullable(),
};

const letter = {
  id: z.string(),
  address: z.string().describe('Actor that could not handle it: kind/tenant/id.'),
  kind: z.enum(['message', 'record']).describe('record: the state of the actor cannot be read.'),
  message: z
    .object({
      message_id: z.string(),
      type: z.string(),
      from: z.string().nullable(),
      cause_id: z.string().nullable(),
      trace_id: z.string(),
    })
    .nullable()
    .describe('Null when it cannot be read.'),
  error: z.string().describe('Error of the last attempt.'),
  at: time,
  status: z.enum(LETTER_STATUSES),
  replays: z.array(z.object({ ...step, message_id: z.string().describe('The message that was sent.') })).readonly(),
  discarded: z.object(step).nullable(),
};

const DeadLetter = z.object(letter).meta({ id: 'DeadLetter' });

const DeadLetterInFull = z
  .object({
    ...letter,
    payload: z.unknown().describe('Payload of the message without secrets.'),
    payload_chars: z.number().int(),
    payload_omitted: z.literal(true).optional().describe('The payload is larger than 1 MiB and not shown.'),
  })
  .meta({ id: 'DeadLetterInFull' });

const LetterParams = z.object({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,500}$/, 'expected the id of a dead letter')
    .describe('Id of the letter.'),
});

const common = { tag: 'dead letters', needs: ['deadLetters'] } as const;

const texts = { notFound: 'dead letter not found' };

const behind = (path = '') => ({ path: `/v1/dead-letters${path}`, style: 'coded', texts }) as const;

/** Operations on messages that no actor could handle (K6). */
export const DEAD_LETTER_OPERATIONS = [
  operation({
    ...common,
    name: 'dead_letters.list',
    summary: 'List dead letters, newest first',
    description: 'A page may hold fewer letters than asked for: only those that the caller may see.',
    access: 'read',
    input: {
      query: z.object({
        kind: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected the kind of an actor')
          .optional(),
        status: z.enum(LETTER_STATUSES).optional(),
        limit: limitField(50, MOST_LISTED),
        page_token: pageTokenField,
      }),
    },
    answer: z.object({ dead_letters: z.array(DeadLetter), ...nextPageField }),
    rest: { method: 'GET', ...behind() },
    commands: ['dead-letter list'],
    async handle({ deadLetters }, { identity, query: { kind, status, limit, page_token } }) {
      const page = { limit: Math.min(limit, MOST_LISTED), pageToken: page_token };
      const { items, ...next } = await deadLetters.list(identity, { kind, status, ...page });
      return { dead_letters: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'dead_letters.get',
    summary: 'Show a dead letter with its payload',
    access: 'read',
    input: { params: LetterParams },
    answer: DeadLetterInFull,
    rest: { method: 'GET', ...behind('/:id'), also: [404] },
    commands: ['dead-letter show'],
    handle: ({ deadLetters }, { identity, params }) => deadLetters.get(identity, params.id),
  }),
  operation({
    ...common,
    name: 'dead_letters.replay',
    summary: 'Send the message of a dead letter to its actor again',
    description: `At most ${MOST_REPLAYS} times. The letter keeps who did it, when and why.`,
    access: 'write',
    input: {
      params: LetterParams,
      body: z.strictObject({ reason: telling(MOST_REASON_CHARS).optional() }).nullish(),
    },
    answer: DeadLetterInFull,
    rest: { method: 'POST', ...behind('/:id/replay'), also: [404, 409] },
    commands: ['dead-letter replay'],
    handle: ({ deadLetters }, { identity, params, body }) =>
      deadLetters.replay(identity, params.id, body?.reason ?? null),
  }),
  operation({
    ...common,
    name: 'dead_letters.discard',
    summary: 'Mark a dead letter as settled without a replay',
    description: 'It stays as a record and cannot be replayed any more.',
    access: 'write',
    input: { params: LetterParams, body: z.strictObject({ reason: telling(MOST_REASON_CHARS) }) },
    answer: DeadLetterInFull,
    rest: { method: 'POST', ...behind('/:id/discard'), also: [404, 409] },
    commands: ['dead-letter discard'],
    handle: ({ deadLetters }, { identity, params, body }) => deadLetters.discard(identity, params.id, body.reason),
  }),
];
