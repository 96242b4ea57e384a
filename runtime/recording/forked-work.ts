import { z } from 'zod';
import { type Address, isAddress, parseAddress } from '../address.ts';
import type { EffectRequest, Schemas, Turn } from '../define-actor.ts';
import { type Json, jsonField, jsonObjectField } from '../json.ts';

/** The run and the message that another one was forked from. */
export const ForkedFrom = z.object({
  id: z.string(),
  message_id: z.string(),
  /** Given by the caller. */
  reason: z.string().max(1_000).optional(),
});

export type ForkedFrom = z.output<typeof ForkedFrom>;

const Request = z.looseObject({
  kind: z.string(),
  mode: z.enum(['repeatable', 'once']),
  input: jsonObjectField,
  replyAs: z.string(),
});

/**
 * Payload of the message that creates a forked actor: the state of the original after one of its messages, and the work that
 * was open then. All ids are those of the original.
 */
export const ForkedWork = z.object({
  from: ForkedFrom,
  /** Version of the definition that wrote the state. */
  version: z.number().int(),
  state: jsonField,
  events: z.array(z.object({ name: z.string(), payload: jsonField })),
  timers: z.array(z.object({ name: z.string(), after_ms: z.number(), type: z.string(), payload: jsonField })),
  effects: z.array(
    z.object({
      id: z.string(),
      request: z.custom<EffectRequest>((value) => Request.safeParse(value).success, 'expected a request'),
    }),
  ),
  /** Messages to actors whose answers were open. */
  sent: z.array(
    z.object({ to: z.custom<Address>(isAddress, 'expected an address'), type: z.string(), payload: jsonField }),
  ),
});

export type ForkedWork = z.output<typeof ForkedWork>;

/** Ids of the original -> ids of the fork. */
export type NewIds = Map<string, string>;

/**
 * Replaces ids in a value: texts and keys that are an id, and addresses of one. An id inside a longer text, such as a
 * prompt, stays: that text was made before the fork.
 */
export function withNewIds(value: Json, ids: ReadonlyMap<string, string>): Json {
  if (typeof value === 'string') return newText(value, ids);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => withNewIds(item, ids));
  // Defined, not assigned: assigning a key such as `__proto__` would call a setter.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [ids.get(key) ?? key, withNewIds(item, ids)] as const),
  );
}

function newText(text: string, ids: ReadonlyMap<string, string>): string {
  const known = ids.get(text);
  if (known !== undefined) return known;
  const cut = text.lastIndexOf('/');
  if (cut === -1 || text.length - cut > 129) return text;
  const id = ids.get(text.slice(cut + 1));
  return id === undefined || !isAddress(text) ? text : `${text.slice(0, cut + 1)}${id}`;
}

function newAddress(address: Address, ids: ReadonlyMap<string, string>): Address {
  const { kind, tenant, id } = parseAddress(address);
  return `${kind}/${tenant}/${ids.get(id) ?? id}`;
}

type AnyTurn = Pick<Turn<Schemas, Schemas>, 'effect' | 'emit' | 'tell' | 'after'>;

/** Emits the events of the original, so that the stream of the fork is whole. */
export function emitAgain(work: Pick<ForkedWork, 'events'>, ids: NewIds, turn: AnyTurn): void {
  for (const { name, payload } of work.events) turn.emit(name, withNewIds(payload, ids));
}

/**
 * Opens again what was open: effects, messages to actors whose answers are awaited, and timers with their whole time.
 * The ids of the effects are added to `ids`. `change` gives the request and the messages in the name of the caller.
 */
export function reopen(
  work: Pick<ForkedWork, 'effects' | 'sent' | 'timers'>,
  ids: NewIds,
  turn: AnyTurn,
  change: (value: Json) => Json,
): void {
  for (const { id, request } of work.effects) {
    const input = jsonObjectField.parse(change(withNewIds(request.input, ids)));
    const context = request.context === undefined ? undefined : withNewIds(request.context, ids);
    ids.set(id, turn.effect({ ...request, input, context }));
  }
  for (const { to, type, payload } of work.sent) {
    turn.tell(newAddress(to, ids), type, change(withNewIds(payload, ids)));
  }
  for (const { name, after_ms, type, payload } of work.timers) {
    turn.after(name, after_ms, type, withNewIds(payload, ids));
  }
}
