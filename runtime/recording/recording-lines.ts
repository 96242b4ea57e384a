import type { z } from 'zod';
import { type Address, parseAddress } from '../address.ts';
import { SvcError } from '../errors.ts';
import { VERSION } from '../store-formats.ts';
import {
  ActorLine,
  DeliveryLine,
  EndLine,
  EventLine,
  HiddenLine,
  RECORDING_VERSION,
  type RecordedActor,
  type Recording,
  RecordingHead,
} from './recording.ts';

/** Longest line of a recording, in characters. */
export const MOST_LINE_CHARS = 64 * 1024 * 1024;
const MOST_ACTORS = 5_000;

/** One line of a recording, checked against those before it. */
export type CheckedLine =
  | { readonly kind: 'head'; readonly head: RecordingHead }
  | { readonly kind: 'actor'; readonly actor: ActorLine }
  | { readonly kind: 'event'; readonly event: EventLine }
  | { readonly kind: 'delivery'; readonly delivery: DeliveryLine }
  | { readonly kind: 'hidden' }
  | { readonly kind: 'end' };

/** The error for a line of a recording: `invalid_argument` naming the line. */
export const refusedLine = (line: number, problem: string, cause?: unknown): SvcError =>
  new SvcError('invalid_argument', `line ${line}: ${problem}`, { field: `line ${line}`, cause });

/** The actor whose lines are read. */
interface OpenActor {
  readonly line: ActorLine;
  events: number;
  last: DeliveryLine | null;
}

/**
 * Checks the lines of a recording one by one: the head, actors with their events and deliveries, and the number of lines at the
 * end. It keeps no line, so a file may have any size. Throws `invalid_argument` naming the line when the text is not a
 * recording, is damaged or ends too early.
 */
export class RecordingLines {
  readonly #known = new Set<Address>();
  #tenant: string | null = null;
  #actor: OpenActor | null = null;
  #line = 0;
  #ended = false;

  /** Number of the last line. */
  get line(): number {
    return this.#line;
  }

  check(text: string): CheckedLine {
    this.#line += 1;
    const line = this.#line;
    if (this.#ended) throw refusedLine(line, 'nothing may follow the last line');
    if (text.length > MOST_LINE_CHARS) throw refusedLine(line, `longer than ${MOST_LINE_CHARS} characters`);
    try {
      return this.#checked(line, parsed(line, text));
    } catch (thrown) {
      if (thrown instanceof RangeError) throw refusedLine(line, 'nested too deeply', thrown);
      throw thrown;
    }
  }

  /** Call it behind the last line. */
  end(): void {
    if (this.#line === 0) throw refusedLine(1, 'the file is empty');
    if (!this.#ended) throw refusedLine(this.#line, 'the file ends here without its last line: it is incomplete');
  }

  #checked(line: number, value: object): CheckedLine {
    if (this.#tenant === null) {
      const head = headOf(line, value);
      this.#tenant = head.tenant;
      return { kind: 'head', head };
    }
    if ('actor' in value) {
      const actor = fitting(line, ActorLine, value);
      this.#begin(line, actor);
      return { kind: 'actor', actor };
    }
    if ('end' in value) {
      const { end } = fitting(line, EndLine, value);
      if (end !== line) throw refusedLine(line, `the file has ${line} lines and was written with ${end}`);
      this.#ended = true;
      return { kind: 'end' };
    }
    if (this.#actor === null) throw refusedLine(line, 'expected an actor');
    return ofActor(line, this.#actor, value);
  }

  #begin(line: number, actor: ActorLine): void {
    if (this.#known.has(actor.actor)) throw refusedLine(line, `the actor ${actor.actor} occurs twice`);
    if (this.#known.size >= MOST_ACTORS) throw refusedLine(line, `more than ${MOST_ACTORS} actors`);
    if (parseAddress(actor.actor).tenant !== this.#tenant) throw refusedLine(line, 'an actor of another tenant');
    this.#known.add(actor.actor);
    this.#actor = { line: actor, events: 0, last: null };
  }
}

function ofActor(line: number, actor: OpenActor, value: object): CheckedLine {
  if ('delivery' in value) {
    const delivery = fitting(line, DeliveryLine, value);
    if (delivery.message.to !== actor.line.actor) throw refusedLine(line, 'a delivery to another actor');
    const { last } = actor;
    if (last !== null && last.partition === delivery.partition && last.delivery >= delivery.delivery) {
      throw refusedLine(line, 'the deliveries are not in order');
    }
    actor.last = delivery;
    return { kind: 'delivery', delivery };
  }
  if ('event' in value) {
    const event = fitting(line, EventLine, value);
    actor.events += 1;
    if (event.event !== actor.events) throw refusedLine(line, `expected event ${actor.events}`);
    return { kind: 'event', event };
  }
  fitting(line, HiddenLine, value);
  return { kind: 'hidden' };
}

function parsed(line: number, text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refusedLine(line, 'expected JSON: the file is damaged or cut', cause);
  }
  if (typeof value !== 'object' || value === null) throw refusedLine(line, 'expected a JSON object');
  return value;
}

const WrittenBy = RecordingHead.pick({ version: true, svc: true });

function headOf(line: number, value: object): RecordingHead {
  if (!('format' in value) || value.format !== 'svc-recording') throw refusedLine(line, 'not a recording of svc');
  // The rest of a newer head may look different.
  const { version, svc } = fitting(line, WrittenBy, value);
  if (version <= RECORDING_VERSION) return fitting(line, RecordingHead, value);
  const written = `version ${version} of the format, written by svc ${svc}`;
  throw refusedLine(line, `${written}; this is svc ${VERSION}, which reads versions up to ${RECORDING_VERSION}`);
}

function fitting<S extends z.ZodType>(line: number, schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw refusedLine(line, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'malformed'}`);
}

/** Collects checked lines as a whole recording. */
export class RecordingCollector {
  readonly #actors: RecordedActor[] = [];
  #head: RecordingHead | null = null;

  add(line: CheckedLine): void {
    const actor = this.#actors.at(-1);
    if (line.kind === 'head') this.#head = line.head;
    else if (line.kind === 'actor') this.#actors.push({ line: line.actor, events: [], deliveries: [], hidden: 0 });
    else if (line.kind === 'event') actor?.events.push(line.event);
    else if (line.kind === 'delivery') actor?.deliveries.push(line.delivery);
    else if (line.kind === 'hidden' && actor !== undefined) actor.hidden += 1;
  }

  /** The recording, once all lines were checked. */
  end(): Recording {
    if (this.#head === null) throw refusedLine(1, 'the file is empty');
    return { head: this.#head, actors: this.#actors };
  }
}

/** Reads the text of a recording. Throws `invalid_argument` naming the line that is not valid. */
export function parseRecording(text: string): Recording {
  const lines = new RecordingLines();
  const collector = new RecordingCollector();
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('\n', from);
    const to = found < 0 ? text.length : found;
    collector.add(lines.check(text.slice(from, to)));
    from = to + 1;
  }
  lines.end();
  return collector.end();
}
