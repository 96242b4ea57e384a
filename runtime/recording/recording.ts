import { z } from 'zod';
import { type Address, parseAddress } from '../address.ts';
import { SvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import type { Message } from '../message.ts';
import { turnRow } from '../projection/views.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { decodeMessageText } from '../turns/codec.ts';

/** Version of the lines. A reader refuses newer ones. */
export const RECORDING_VERSION = 1;

const address = z.custom<Address>((value) => {
  if (typeof value !== 'string') return false;
  try {
    parseAddress(value);
    return true;
  } catch {
    return false;
  }
}, 'expected an address kind/tenant/id');

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
  recorded_at: z.string().optional(),
  tenant: z.string(),
  /** The run, when it is the recording of one. */
  run: z.object({ kind: z.string(), id: z.string(), trace_id: z.string().nullable() }).nullable(),
  /** Settings that decide in turns. No secrets. */
  settings: z.record(z.string(), jsonField),
  retry,
  /** From when on deliveries were kept, when retention had removed some. */
  kept_from: z.string().nullable(),
});
export type RecordingHead = z.output<typeof RecordingHead>;

/** An actor as it was when it was recorded. Its events and deliveries follow. */
export const ActorLine = z.object({
  actor: address,
  /** Version of its definition. */
  version: z.number().int(),
  revision: z.number().int(),
  last_event: z.number().int(),
  archived: z.boolean(),
  state: jsonField,
  /** Secrets were taken out of the state. */
  masked: z.literal(true).optional(),
});
export type ActorLine = z.output<typeof ActorLine>;

const EventLine = z.object({
  event: z.number().int(),
  at: z.number(),
  name: z.string(),
  payload: jsonField,
  masked: z.literal(true).optional(),
});
type EventLine = z.output<typeof EventLine>;

export const DeliveryLine = z.object({
  delivery: z.number(),
  at: z.number(),
  epoch: z.number().int(),
  node: z.string().nullable(),
  partition: z.string(),
  row: z.custom<TurnRow | null>((value) => turnRow.nullable().safeParse(value).success, 'expected a turn'),
  message: z.custom<Message>((value) => typeof value === 'object' && value !== null, 'expected a message'),
  masked: z.literal(true).optional(),
});
export type DeliveryLine = z.output<typeof DeliveryLine>;

/** A delivery that the reader may not see. Without it its actor cannot be replayed. */
const HiddenLine = z.object({ hidden: z.number() });

const EndLine = z.object({ end: z.number().int() });

export type RecordingLine = ActorLine | EventLine | DeliveryLine | z.output<typeof HiddenLine>;

/** One actor of a recording. */
export interface RecordedActor {
  readonly line: ActorLine;
  readonly events: EventLine[];
  readonly deliveries: DeliveryLine[];
  /** Deliveries that are missing, because the one who recorded may not see them. */
  hidden: number;
}

/** Actors with all that was delivered to them: of a run, or those that a test keeps. */
export interface Recording {
  readonly head: RecordingHead;
  readonly actors: readonly RecordedActor[];
}

const refused = (line: number, problem: string): SvcError =>
  new SvcError('invalid_argument', `line ${line}: ${problem}`, { field: `line ${line}` });

const MOST_LINE_CHARS = 64 * 1024 * 1024;
const MOST_ACTORS = 5_000;

/**
 * Reads the lines of a recording: the head, actors with their events and deliveries, and the number of lines at the
 * end. Throws `invalid_argument` naming the line for what is no recording, is damaged or ends too early.
 */
export function parseRecording(text: string): Recording {
  const reader = new RecordingReader();
  let line = 0;
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('\n', from);
    const to = found < 0 ? text.length : found;
    line += 1;
    if (to - from > MOST_LINE_CHARS) throw refused(line, `longer than ${MOST_LINE_CHARS} characters`);
    reader.take(line, text.slice(from, to));
    from = to + 1;
  }
  return reader.end(line);
}

class RecordingReader {
  #head: RecordingHead | null = null;
  readonly #actors: RecordedActor[] = [];
  readonly #known = new Set<Address>();
  #ended = false;

  take(line: number, text: string): void {
    if (this.#ended) throw refused(line, 'nothing may follow the last line');
    const value = parsed(line, text);
    if (this.#head === null) {
      this.#head = headOf(line, value);
    } else if ('actor' in value) this.#addActor(line, fitting(line, ActorLine, value));
    else if ('end' in value) {
      const { end } = fitting(line, EndLine, value);
      if (end !== line) throw refused(line, `the file has ${line} lines and was written with ${end}`);
      this.#ended = true;
    } else this.#addToActor(line, value);
  }

  #addActor(line: number, actor: ActorLine): void {
    if (this.#known.has(actor.actor)) throw refused(line, `the actor ${actor.actor} is there twice`);
    if (this.#actors.length >= MOST_ACTORS) throw refused(line, `more than ${MOST_ACTORS} actors`);
    if (parseAddress(actor.actor).tenant !== this.#head?.tenant) throw refused(line, 'an actor of another tenant');
    this.#known.add(actor.actor);
    this.#actors.push({ line: actor, events: [], deliveries: [], hidden: 0 });
  }

  #addToActor(line: number, value: object): void {
    const actor = this.#actors.at(-1);
    if (actor === undefined) throw refused(line, 'expected an actor');
    if ('delivery' in value) {
      const delivery = fitting(line, DeliveryLine, value);
      if (messageOf(line, delivery).to !== actor.line.actor) throw refused(line, 'a delivery to another actor');
      const last = actor.deliveries.at(-1);
      if (last !== undefined && last.partition === delivery.partition && last.delivery >= delivery.delivery) {
        throw refused(line, 'the deliveries are not in order');
      }
      actor.deliveries.push(delivery);
    } else if ('event' in value) {
      const event = fitting(line, EventLine, value);
      if (event.event !== actor.events.length + 1) throw refused(line, `expected event ${actor.events.length + 1}`);
      actor.events.push(event);
    } else {
      fitting(line, HiddenLine, value);
      actor.hidden += 1;
    }
  }

  end(lines: number): Recording {
    if (this.#head === null) throw refused(1, 'the file is empty');
    if (!this.#ended) throw refused(lines, 'the file ends here without its last line: it was cut');
    return { head: this.#head, actors: this.#actors };
  }
}

function parsed(line: number, text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refused(line, 'expected JSON: the file is damaged or cut');
  }
  if (typeof value !== 'object' || value === null) throw refused(line, 'expected a JSON object');
  return value;
}

function headOf(line: number, value: object): RecordingHead {
  if (!('format' in value) || value.format !== 'svc-recording') throw refused(line, 'this is no recording of svc');
  const head = fitting(line, RecordingHead, value);
  if (head.version <= RECORDING_VERSION) return head;
  throw refused(
    line,
    `version ${head.version} of the format, written by svc ${head.svc}; this svc reads ${RECORDING_VERSION}`,
  );
}

function fitting<S extends z.ZodType>(line: number, schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw refused(line, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'malformed'}`);
}

function messageOf(line: number, { message }: DeliveryLine): Message {
  try {
    return decodeMessageText(JSON.stringify(message));
  } catch {
    throw refused(line, 'message: expected a message');
  }
}

/** The text of a recording. Its lines are not checked: `parseRecording` does. */
export function recordingText(head: object, lines: readonly object[]): string {
  const all = [head, ...lines, { end: lines.length + 2 }];
  return `${all.map((line) => JSON.stringify(line)).join('\n')}\n`;
}
