import { z } from 'zod';
import { type Address, isAddress, isPartition, type Partition } from '../address.ts';
import { jsonField } from '../json.ts';
import type { Message } from '../message.ts';
import { turnRow } from '../projection/views.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { isWholeMessage } from '../turns/codec.ts';

/** Version of the lines. A reader refuses newer ones. */
export const RECORDING_VERSION = 1;

const address = z.custom<Address>(isAddress, 'expected an address kind/tenant/id');

const isRecorded = (value: unknown): boolean =>
  isWholeMessage(value) && isAddress(value.to) && (value.from === null || isAddress(value.from));

/** Unix ms that a date can show. */
const time = z.number().min(0).max(8.64e15);

const row = z.custom<TurnRow | null>((value) => {
  const read = turnRow.nullable().safeParse(value);
  return read.success && time.safeParse(read.data?.now ?? 0).success;
}, 'expected a turn');

const retry = z.object({
  maxAttempts: z.number().int().positive(),
  initialDelayMs: z.number().nonnegative(),
  maxDelayMs: z.number().nonnegative(),
});

/** The first line: what was recorded, by which version, and under which settings. */
export const RecordingHead = z.object({
  format: z.literal('svc-recording'),
  version: z.number().int().positive(),
  /** Version of the product that recorded. */
  svc: z.string(),
  /** When a file was written, ISO 8601. A node's answer has no time, so that equal recordings are equal. */
  recorded_at: z.iso.datetime().optional(),
  tenant: z.string(),
  /** The run, when it is the recording of one. */
  run: z.object({ kind: z.string(), id: z.string(), trace_id: z.string().nullable() }).nullable(),
  /** Settings that decide in turns. No secrets. */
  settings: z.record(z.string(), jsonField),
  retry,
  /** Time from which deliveries were kept, when retention had removed some. */
  kept_from: z.iso.datetime().nullable(),
});
export type RecordingHead = z.output<typeof RecordingHead>;

/** An effect that had not ended, without its input. */
const OpenEffectLine = z.object({
  id: z.string(),
  queue: z.string(),
  mode: z.enum(['repeatable', 'once']),
  status: z.enum(['open', 'started']),
  attempt: z.number().int().nonnegative(),
  /** The runner that started it (`node/incarnation`); empty while it is open. */
  runner: z.string(),
  until: time,
  last_error: z.object({ code: z.string(), message: z.string() }).optional(),
  /** The request of the effect; null when it could not be read. */
  request: z.object({ kind: z.string(), cause: z.string(), trace: z.string() }).nullable(),
});

const MOST_OPEN = 10_000;

/** The open work of an actor when it was recorded. */
export const OpenLine = z.object({
  timers: z.array(z.object({ name: z.string(), due_at: time.nullable() })).max(MOST_OPEN),
  effects: z.array(OpenEffectLine).max(MOST_OPEN),
  /** A message that kept failing. */
  stuck: z.object({ message_type: z.string(), error: z.string(), attempts: z.number().int() }).nullable(),
});
export type OpenLine = z.output<typeof OpenLine>;

/** An actor as it was when it was recorded. Its events and deliveries follow. */
export const ActorLine = z.object({
  actor: address,
  /** Version of its definition. */
  version: z.number().int(),
  revision: z.number().int().nonnegative(),
  last_event: z.number().int().nonnegative(),
  archived: z.boolean(),
  state: jsonField,
  /** Absent when it waited for nothing, and in recordings of earlier versions. */
  open: OpenLine.optional(),
  /** Secrets were taken out of the state. */
  masked: z.literal(true).optional(),
});
export type ActorLine = z.output<typeof ActorLine>;

export const EventLine = z.object({
  event: z.number().int(),
  at: time,
  name: z.string(),
  payload: jsonField,
  masked: z.literal(true).optional(),
});
export type EventLine = z.output<typeof EventLine>;

export const DeliveryLine = z.object({
  delivery: z.number(),
  at: time,
  epoch: z.number().int(),
  node: z.string().nullable(),
  partition: z.custom<Partition>((value) => typeof value === 'string' && isPartition(value), 'expected a partition'),
  row,
  message: z.custom<Message>(isRecorded, 'expected a message'),
  masked: z.literal(true).optional(),
});
export type DeliveryLine = z.output<typeof DeliveryLine>;

/** A delivery that the reader may not see. Without it its actor cannot be replayed. */
export const HiddenLine = z.object({ hidden: z.number() });

export const EndLine = z.object({ end: z.number().int() });

export type RecordingLine = ActorLine | EventLine | DeliveryLine | z.output<typeof HiddenLine>;

/** One actor of a recording. */
export interface RecordedActor {
  readonly line: ActorLine;
  readonly events: EventLine[];
  readonly deliveries: DeliveryLine[];
  /** Deliveries that are missing, because the caller who recorded may not see them. */
  hidden: number;
}

/** Actors with all that was delivered to them: of a run, or those that a test keeps. */
export interface Recording {
  readonly head: RecordingHead;
  readonly actors: readonly RecordedActor[];
}

/** The text of a recording. Its lines are not checked: `RecordingLines` does. */
export function recordingText(head: object, lines: readonly object[]): string {
  const all = [head, ...lines, { end: lines.length + 2 }];
  return `${all.map((line) => JSON.stringify(line)).join('\n')}\n`;
}
