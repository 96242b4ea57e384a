import { z } from 'zod';
import { STEP_KINDS } from '../../traces/critical-path.ts';
import { OUTCOMES } from '../../traces/delivery-row.ts';
import { EFFECT_OUTCOMES } from '../../traces/trace-effects.ts';
import { TRACE_RELATIONS } from '../../traces/trace-links.ts';
import { TRACE_STATUSES } from '../../traces/trace-status.ts';
import { nextPageField } from './fields.ts';

const time = z.string().describe('ISO 8601.');

const ms = z.number().describe('Milliseconds.');

export const TraceIdParams = z.object({
  trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'expected the id of a trace: 32 lower-case hex digits')
    .describe('W3C trace id.'),
});

export const DeliveryRow = z
  .object({
    message_id: z.string(),
    cause_id: z.string().nullable().describe('Message whose turn sent this one; null only for the root.'),
    from: z.string().nullable().describe('Address of the sender; null for a client and for an effect.'),
    to: z.string().describe('Address: kind/tenant/id.'),
    type: z.string(),
    at: time.describe('When it was appended, ISO 8601.'),
    wait_ms: ms.describe('Milliseconds in the mailbox.'),
    turn_ms: ms.describe('Milliseconds of the turn.'),
    node: z.string().nullable().describe('Node that handled it; null in rows of earlier versions.'),
    epoch: z.number().int().describe('Lease epoch of the commit.'),
    attempt: z.number().int(),
    outcome: z
      .enum(OUTCOMES)
      .describe(
        'retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns.',
      ),
  })
  .meta({ id: 'Delivery' });

const TraceEffect = z
  .object({
    effect_id: z.string(),
    message_id: z.string().nullable().describe('Message whose turn requested it.'),
    kind: z.string().nullable().describe('Such as model.generate.'),
    attempt: z.number().int(),
    node: z.string().nullable(),
    started_at: time.nullable(),
    ended_at: time.nullable().describe('When its result was appended; null while it has none.'),
    outcome: z.enum(EFFECT_OUTCOMES),
  })
  .meta({ id: 'TraceEffect' });

export const keptFromField = {
  kept_from: z
    .string()
    .optional()
    .describe('ISO 8601: retention removed what is older. Absent when nothing was removed.'),
};

const TraceLink = z
  .object({
    trace_id: z.string(),
    relation: z
      .enum(TRACE_RELATIONS)
      .describe(
        'next: this trace continues in it; previous: it continues in this one; run: the trace of the run that this call went to; call: a further call to the run, such as a cancel; forked_from: the trace of the run that this one was forked from.',
      ),
  })
  .meta({ id: 'TraceLink' });

const traceHead = {
  trace_id: z.string(),
  root: z
    .string()
    .nullable()
    .describe(
      'Id of the message that began it; null when retention removed that, and when it continues another trace.',
    ),
  status: z.enum(TRACE_STATUSES),
  started_at: time,
  ended_at: time.nullable(),
  links: z
    .array(TraceLink)
    .readonly()
    .describe('Other traces that belong to it. A trace of 10,000 deliveries continues in another one.'),
  ...keptFromField,
};

export const Trace = z
  .object({
    ...traceHead,
    deliveries: z.array(DeliveryRow).readonly(),
    effects: z
      .array(TraceEffect)
      .readonly()
      .describe('Effects whose results are on this page; on the last one also those that have not ended.'),
    next: z.string().nullable().describe('For ?next=; null at the end.'),
    ...nextPageField,
  })
  .meta({ id: 'Trace' });

const cut = { cut: z.literal(true).optional().describe('It covers the first 11,000 deliveries only.') };

export const CriticalPath = z
  .object({
    ...traceHead,
    duration_ms: ms,
    steps: z
      .array(
        z.object({
          kind: z.enum(STEP_KINDS).describe('relay: on the way from one actor to the next.'),
          effect_kind: z.string().nullable(),
          message_id: z.string(),
          to: z.string(),
          type: z.string(),
          from_at: time,
          to_at: time,
          ms,
        }),
      )
      .readonly(),
    ...cut,
  })
  .meta({ id: 'CriticalPath' });

export const TraceSummary = z
  .object({
    ...traceHead,
    duration_ms: ms.describe('From the first append to the last end.'),
    deliveries: z.number().int(),
    mailbox_ms: ms.describe('All waits in mailboxes, added up.'),
    turns_ms: ms.describe('All turns, added up.'),
    effects: z.array(z.object({ kind: z.string(), count: z.number().int(), ms })).readonly(),
    timers_ms: ms,
    people_ms: ms.describe('Waits for answers to approvals; each moment counts once.'),
    critical_path: z
      .object({
        duration_ms: ms,
        mailbox_ms: ms,
        turns_ms: ms,
        effects: z.array(z.object({ kind: z.string(), ms })).readonly(),
        timers_ms: ms,
        relay_ms: ms,
      })
      .describe('The same for the critical path alone; its parts add up to its duration.'),
    ...cut,
  })
  .meta({ id: 'TraceSummary' });

export const TraceRow = z
  .object({
    trace_id: z.string(),
    root: z.string().describe('Id of the message that began it.'),
    kind: z.string().describe('Kind of the actor that the root went to.'),
    id: z.string().describe('Id of that actor.'),
    name: z.string().nullable().describe('Name of the agent or workflow; null for other calls.'),
    type: z.string().describe('Type of the root.'),
    status: z.enum(TRACE_STATUSES),
    started_at: time,
    ended_at: time.nullable(),
    duration_ms: ms.nullable(),
    error_code: z.string().nullable(),
    node: z.string().nullable().describe('Node that handled the root.'),
  })
  .meta({ id: 'TraceRow' });
