import { hash } from 'node:crypto';
import type { z } from 'zod';
import { type Address, asAddress } from '../address.ts';
import {
  type ActorDefinition,
  answerOf,
  type EffectKind,
  type EffectRequest,
  type RequestOf,
  type Schemas,
  type TellOptions,
  type Turn,
} from '../define-actor.ts';
import { type ErrorCode, type ErrorDetail, isErrorCode, SvcError } from '../errors.ts';
import type { Identity } from '../identity.ts';
import { type Json, plainJson, plainObject } from '../json.ts';
import { hot } from '../kit/hot-schema.ts';
import { contextOf, type Message, type Reply } from '../message.ts';
import type { TraceContext } from '../tracing/trace-context.ts';
import { type ActorRecord, frozen } from './record.ts';
import { counted, type TraceCount } from './trace-count.ts';

/** The decisions of one turn. None of them takes effect until the batch commits. */
export interface Decision {
  readonly events: { name: string; payload: unknown }[];
  readonly sends: Message[];
  /** Ids of the messages in `sends` that are lazy. */
  readonly lazy: string[];
  readonly timersSet: { name: string; afterMs: number; message: Message }[];
  readonly timersCleared: string[];
  readonly effects: { id: string; request: EffectRequest }[];
  readonly effectsCancelled: string[];
  reply: Reply | null;
}

/** The digits that stand for a UUID's variant. */
const VARIANTS = ['8', '9', 'a', 'b'] as const;

/** Thrown by `turn.refuse`. It rolls the turn back and is not a failure. */
class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly error: SvcError;
  constructor(error: SvcError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * The turn that a handler gets (K5). Ids and random numbers come from a sequence seeded by the message, and `now` is
 * recorded in the journal, so the same message on the same state leads to the same decisions.
 */
class SeededTurn implements Turn<Schemas, Schemas> {
  readonly self: Address;
  readonly tenant: string;
  readonly sender: Address | null;
  readonly identity: Identity | null;
  readonly messageId: string;
  readonly trace: string;
  readonly traceContext: TraceContext | undefined;
  readonly now: number;
  readonly decision: Decision = {
    events: [],
    sends: [],
    lazy: [],
    timersSet: [],
    timersCleared: [],
    effects: [],
    effectsCancelled: [],
    reply: null,
  };
  readonly #message: Message;
  readonly #events: Schemas;
  readonly #messages: Schemas;
  readonly #answer: z.ZodType | undefined;
  #drawn = 0;

  constructor(
    message: Message,
    tenant: string,
    now: number,
    { events, messages }: Pick<ActorDefinition, 'events' | 'messages'>,
    trace: string,
  ) {
    const schema = messages[message.type];
    this.#message = message;
    this.#events = events;
    this.#messages = messages;
    this.#answer = schema === undefined ? undefined : answerOf(schema);
    this.self = message.to;
    this.tenant = tenant;
    this.sender = message.from;
    this.identity = message.identity ?? null;
    this.messageId = message.id;
    this.trace = trace;
    this.traceContext = message.traceContext;
    this.now = now;
  }

  newId(): string {
    const hex = this.#draw();
    // Version 4 and its variant, as bytes 6 and 8 of a UUID have them.
    const variant = VARIANTS[Number.parseInt(hex[16] ?? '', 16) % VARIANTS.length];
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  random(): number {
    return Number.parseInt(this.#draw().slice(0, 12), 16) / 2 ** 48;
  }

  #draw(): string {
    this.#drawn += 1;
    return hash('sha256', `${this.messageId}\n${this.self}\n${this.#drawn}`, 'hex');
  }

  emit(name: string, payload: unknown): void {
    const schema = this.#events[name];
    if (schema === undefined) throw new Error(`${this.self} has no event ${name}`);
    this.decision.events.push({ name, payload: checked(schema, payload, `the payload of event ${name}`) });
  }

  tell(to: Address, type: string, payload: Json, { delivery, ...options }: TellOptions = {}): void {
    const message = this.#compose(asAddress(to), 'actor', type, payload, options);
    if (options.replyAs !== undefined) this.#checkType(options.replyAs, `the answer to ${type}`);
    this.decision.sends.push(message);
    if (delivery === 'lazy') this.decision.lazy.push(message.id);
  }

  reply(value: Json): void {
    const answer =
      this.#answer === undefined
        ? value
        : plainJson(checked(this.#answer, value, `the answer to ${this.#message.type}`) ?? null);
    this.decision.reply = { ok: true, value: answer };
  }

  refuse(code: ErrorCode, message?: string, details?: readonly ErrorDetail[]): never {
    if (!isErrorCode(code)) throw new Error(`turn.refuse: the table of errors has no code ${String(code)}`);
    throw new Refusal(new SvcError(code, message, details === undefined ? {} : { details }));
  }

  after(name: string, delayMs: number, type: string, payload: unknown): void {
    if (!Number.isFinite(delayMs))
      throw new Error(`the delay of timer ${name}: expected a number of milliseconds, got ${delayMs}`);
    this.#checkType(type, `timer ${name}`);
    const message = this.#compose(this.self, 'timer', type, plainJson(payload ?? {}), {});
    this.decision.timersSet.push({ name, afterMs: Math.max(0, delayMs), message: { ...message, timer: name } });
  }

  clear(timer: string): void {
    this.decision.timersCleared.push(timer);
  }

  effect(...asked: [EffectRequest] | [EffectKind, RequestOf<z.ZodType>]): string {
    const request = asked.length === 1 ? asked[0] : requestOf(...asked);
    const { kind, mode, replyAs, progressAs = replyAs } = request;
    if (mode !== 'once' && mode !== 'repeatable')
      throw new Error(`effect ${kind}: expected mode once or repeatable, got ${String(mode)}`);
    this.#checkType(replyAs, `the result of effect ${kind}`);
    this.#checkType(progressAs, `the progress of effect ${kind}`);
    const id = this.newId();
    this.decision.effects.push({ id, request });
    return id;
  }

  cancelEffect(id: string): void {
    this.decision.effectsCancelled.push(id);
  }

  /** Throws when this actor takes no message of the type: what is sent later under that name would be lost. */
  #checkType(type: string, what: string): void {
    if (!Object.hasOwn(this.#messages, type)) throw new Error(`${what}: ${this.self} takes no message ${String(type)}`);
  }

  #compose(
    to: Address,
    origin: 'actor' | 'timer',
    type: string,
    payload: Json,
    extra: { readonly replyAs?: string },
  ): Message {
    return {
      id: this.newId(),
      to,
      from: this.self,
      cause: this.messageId,
      trace: this.trace,
      origin,
      type,
      payload,
      ...contextOf(this.#message),
      ...(this.trace === this.#message.trace ? {} : { causeTrace: this.#message.trace }),
      ...(this.#message.identity === undefined ? {} : { identity: this.#message.identity }),
      ...extra,
    };
  }
}

function requestOf({ kind }: EffectKind, request: RequestOf<z.ZodType>): EffectRequest {
  return { ...request, kind, input: plainObject(request.input ?? {}) };
}

/** A turn whose handler returned. */
export interface DoneTurn {
  readonly kind: 'done';
  readonly state: unknown;
  readonly decision: Decision;
  /** Length of the trace after the turn. */
  readonly traced: TraceCount;
}

type TurnOutcome =
  | DoneTurn
  | { readonly kind: 'refused'; readonly error: SvcError }
  /** The handler threw or returned a state that its schema refuses: a bug. The message is tried again (K6). */
  | { readonly kind: 'failed'; readonly error: Error };

/** Runs one turn: message in, decision out. It is pure: it reads nothing but its arguments and writes nothing. */
export function runTurn(
  definition: ActorDefinition,
  record: ActorRecord,
  message: Message,
  tenant: string,
  now: number,
): TurnOutcome {
  const schema = Object.hasOwn(definition.messages, message.type) ? definition.messages[message.type] : undefined;
  const handler = Object.hasOwn(definition.on, message.type) ? definition.on[message.type] : undefined;
  if (schema === undefined || handler === undefined) {
    return refused(new SvcError('invalid_argument', `${definition.kind} takes no message ${message.type}`));
  }
  if (record.revision === 0 && definition.creates !== undefined && !definition.creates.includes(message.type)) {
    return refused(new SvcError('not_found', `${definition.kind} not found`));
  }
  const payload = hot(schema).safeParse(message.payload);
  if (!payload.success) return refused(invalidPayload(message.type, payload.error));
  const traced = counted(record.traced, message);
  const turn = new SeededTurn(message, tenant, now, definition, traced.trace);
  try {
    const next = handler(record.state, payload.data, turn);
    const state = next === record.state ? next : frozen(nextState(definition, next, message.type));
    return { kind: 'done', state, decision: turn.decision, traced };
  } catch (thrown) {
    if (thrown instanceof Refusal) return refused(thrown.error);
    return { kind: 'failed', error: failureOf(thrown, message.type) };
  }
}

/** Checks what a handler returned. */
function nextState(definition: ActorDefinition, next: unknown, type: string): unknown {
  if (next === undefined) throw new Error(`the handler of ${type} returned nothing; return the next state`);
  if (next instanceof Promise) {
    // The turn fails anyway: a rejection must not end the process.
    next.catch(() => {});
    throw new Error(`the handler of ${type} returned a promise; a turn does not wait: request an effect instead`);
  }
  return checked(definition.state, next, `the state that the handler of ${type} returned`);
}

/** The value as its schema parses it. Throws an error that names each wrong field. */
function checked(schema: z.ZodType, value: unknown, what: string): unknown {
  const parsed = hot(schema).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`${what} does not match its schema: ${linesOf(detailsOf(parsed.error))}`, { cause: parsed.error });
}

/** Texts of the errors that V8 throws for a write to a frozen object. */
const FROZEN = /read only property|object is not extensible|Cannot (delete|redefine) property/;

function failureOf(thrown: unknown, type: string): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  if (!(thrown instanceof TypeError) || !FROZEN.test(thrown.message)) return thrown;
  const text = `the handler of ${type} changed its state in place; return a new one instead`;
  return new Error(`${text}: ${thrown.message}`, { cause: thrown });
}

const refused = (error: SvcError): TurnOutcome => ({ kind: 'refused', error });

/** The refusal of a message whose payload does not fit its schema; null when it fits. */
export const payloadRefusal = (type: string, parsed: z.ZodSafeParseResult<unknown>): SvcError | null =>
  parsed.success ? null : invalidPayload(type, parsed.error);

function invalidPayload(type: string, error: z.ZodError): SvcError {
  const details = detailsOf(error);
  return new SvcError('invalid_argument', `${type}: ${linesOf(details.slice(0, 1))}`, { details });
}

const detailsOf = (error: z.ZodError): { readonly path: string; readonly message: string }[] =>
  error.issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String).join('.'), message }));

const linesOf = (details: readonly { readonly path: string; readonly message: string }[]): string =>
  details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');

type Ended = Exclude<TurnOutcome, { readonly kind: 'failed' }>;

/**
 * Refuses a turn that would go on after the end: no event follows a final one, and an archived actor's stream is
 * closed.
 */
export function refusedAfterTheEnd(definition: ActorDefinition, record: ActorRecord, turn: Ended): Ended {
  if (turn.kind === 'refused' || record.revision === 0) return turn;
  const { events, effects, timersSet } = turn.decision;
  if (events.length + effects.length + timersSet.length === 0) return turn;
  const { done, kind } = definition;
  if (done?.(record.state) !== true) return turn;
  return { kind: 'refused', error: new SvcError('failed_precondition', `${kind} has ended`) };
}
