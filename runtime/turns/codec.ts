import { z } from 'zod';
import type { Address } from '../address.ts';
import { SvcError } from '../errors.ts';
import { Identity } from '../identity.ts';
import { jsonField } from '../json.ts';
import { jsonInTurns } from '../kit/json-pieces.ts';
import type { Message, Reply } from '../message.ts';
import { TraceContext } from '../tracing/trace-context.ts';
import type { Payloads } from './payload.ts';

/**
 * Encodes messages, replies and events as JSON text for the store, large ones packed (payload.ts). Text that comes back
 * from a store is checked for its shape once, here.
 */
const wireMessage = z.object({
  id: z.string(),
  to: z.templateLiteral([z.string(), '/', z.string(), '/', z.string()]),
  from: z.templateLiteral([z.string(), '/', z.string(), '/', z.string()]).nullable(),
  cause: z.string().nullable(),
  trace: z.string(),
  reported: z.tuple([z.number(), z.number()]).optional(),
  traceContext: TraceContext.optional(),
  causeTrace: z.string().optional(),
  parentSpan: z.string().optional(),
  origin: z.enum(['client', 'actor', 'timer', 'effect']),
  type: z.string(),
  payload: jsonField,
  identity: Identity.optional(),
  session: z.string().optional(),
  fresh: z.literal(true).optional(),
  first: z.literal(true).optional(),
  replyAs: z.string().optional(),
  timer: z.string().optional(),
});

export function encodeMessage(payloads: Payloads, message: Message): string | Promise<string> {
  return payloads.pack(message.to, JSON.stringify(message));
}

/** `encodeMessage` for a message that may have megabytes: it is written piece by piece, in several turns of the event loop. */
export async function encodeLargeMessage(payloads: Payloads, message: Message): Promise<string> {
  return payloads.pack(message.to, await jsonInTurns(message));
}

export async function decodeMessage(payloads: Payloads, body: string): Promise<Message> {
  return decodeMessageText(await payloads.unpack(body));
}

/** Decodes a body that is known to be inline. The kernel wrote it, so only its outer shape is checked. */
export function decodeMessageText(text: string): Message {
  const parsed: unknown = JSON.parse(text);
  if (isMessage(parsed)) return parsed;
  throw new SvcError('internal', 'a mailbox entry is not a message', { cause: wireMessage.safeParse(parsed).error });
}

/** A cheap shape check for the hot path. The full schema only explains a failure. */
export function isMessage(value: unknown): value is Message {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    typeof value.id === 'string' &&
    'to' in value &&
    typeof value.to === 'string' &&
    'type' in value &&
    typeof value.type === 'string' &&
    'origin' in value &&
    typeof value.origin === 'string' &&
    'trace' in value &&
    'payload' in value
  );
}

/** Whether a value from outside of the stores is a message in all its parts. */
export const isWholeMessage = (value: unknown): value is Message => wireMessage.safeParse(value).success;

const wireReply = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: jsonField }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string(), details: jsonField.optional() }),
]);

export function encodeReply(payloads: Payloads, actor: Address, reply: Reply): string | Promise<string> {
  return payloads.pack(actor, JSON.stringify(reply));
}

export async function decodeReply(payloads: Payloads, body: string): Promise<Reply> {
  const packed = payloads.unpack(body);
  const parsed: unknown = JSON.parse(typeof packed === 'string' ? packed : await packed);
  return isReply(parsed) ? parsed : wireReply.parse(parsed);
}

/** Checks the outer shape of a reply. The kernel wrote it, so the parsed JSON inside is not checked. */
function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null && 'ok' in value && value.ok === true && 'value' in value;
}

const wireEvent = z.object({ n: z.string(), at: z.number(), p: jsonField });
export type WireEvent = z.infer<typeof wireEvent>;

/** Encodes an event. `payload` is its payload as JSON. */
export function encodeEvent(
  payloads: Payloads,
  actor: Address,
  { name, at, payload }: { readonly name: string; readonly at: number; readonly payload: string },
): string | Promise<string> {
  return payloads.pack(actor, `{"n":${JSON.stringify(name)},"at":${at},"p":${payload}}`);
}

/** Returns a promise only for an event in Blobs: a page has hundreds. */
export function decodeEvent(payloads: Payloads, data: string): WireEvent | Promise<WireEvent> {
  const packed = payloads.unpack(data);
  return typeof packed === 'string' ? eventOf(packed) : packed.then(eventOf);
}

function eventOf(text: string): WireEvent {
  const parsed: unknown = JSON.parse(text);
  return isEvent(parsed) ? parsed : wireEvent.parse(parsed);
}

function isEvent(value: unknown): value is WireEvent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'n' in value &&
    typeof value.n === 'string' &&
    'at' in value &&
    typeof value.at === 'number' &&
    'p' in value
  );
}

/**
 * The JSON texts of one batch's decisions. The digest of a turn and the commit need the same texts, and each is made once.
 * Values passed to it must not change any more.
 */
export class JsonTexts {
  readonly #texts = new Map<object, string>();

  of(value: unknown): string {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = JSON.stringify(value);
      this.#texts.set(value, text);
    }
    return text;
  }
}
