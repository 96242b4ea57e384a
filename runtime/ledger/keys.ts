import type { Address } from '../address.ts';
import type { Message } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { decodeMessageText } from '../turns/codec.ts';
import { isSpilled } from '../turns/payload.ts';

/** What the ledger keeps of a message in Blobs beside the reference: all but the payload, and the id of its effect. */
export interface Envelope extends Omit<Message, 'payload'> {
  readonly effect?: string;
}

/** What a delivery is found by. */
export interface DeliveryKeys {
  readonly id: string;
  readonly cause: string | null;
  readonly trace: string;
  /** For a result of an effect: the effect's id. */
  readonly effect: string | null;
  /** For a message in Blobs. */
  readonly envelope: Envelope | null;
  /** For a retry: the keys of the messages that it handled, in the order of its row's `drained`. */
  readonly drained?: readonly DeliveryKeys[];
}

/** The keys of a delivery with its turn. `bodies` holds the messages that the retry of a failing one handled. */
export function keysOfTurn(
  message: Message,
  body: string,
  row: TurnRow | undefined,
  bodies: ReadonlyMap<string, Message>,
): DeliveryKeys {
  const keys = keysOf(message, body);
  if (row?.drained === undefined) return keys;
  const drained = row.drained.map((turn) => bodies.get(turn.body)).filter((one) => one !== undefined);
  return { ...keys, drained: drained.map((one) => keysOf(one, '')) };
}

function keysOf(message: Message, body: string): DeliveryKeys {
  const { id, cause, trace } = message;
  const effect = effectOf(message);
  return { id, cause, trace, effect, envelope: isSpilled(body) ? envelopeOf(message, effect) : null };
}

/** The effect whose result or progress the message is. */
export function effectOf({ origin, payload }: Message): string | null {
  if (origin !== 'effect' || payload === null || typeof payload !== 'object' || Array.isArray(payload)) return null;
  const { effectId } = payload;
  return typeof effectId === 'string' ? effectId : null;
}

function envelopeOf({ payload: _, ...rest }: Message, effect: string | null): Envelope {
  return effect === null ? rest : { ...rest, effect };
}

/** Whether the body of a delivery with its turn says all its keys. */
export const saysItsKeys = (body: string, row: Pick<TurnRow, 'drained'> | undefined): boolean =>
  body.startsWith('{') && row?.drained === undefined;

/** How bodies begin, unless they are results of effects or carry a span. It matches addresses only. */
const HEAD =
  /^\{"id":"([^"\\]+)","to":"([^"\\]+\/[^"\\]+\/[^"\\]+)","from":(?:null|"[^"\\]+"),"cause":(?:null|"([^"\\]+)"),"trace":"([^"\\]+)","origin":"(?:client|actor|timer)"/;

const isMatched = (to: string | undefined): to is Address => to !== undefined;

/** The receiver and the keys of a message in a body that says them. */
export function keysIn(body: string): { readonly to: Address; readonly keys: DeliveryKeys } {
  const [, id, to, cause = null, trace] = HEAD.exec(body) ?? [];
  if (id !== undefined && trace !== undefined && isMatched(to))
    return { to, keys: { id, cause, trace, effect: null, envelope: null } };
  const message = decodeMessageText(body);
  return { to: message.to, keys: keysOf(message, body) };
}

const KEY_KINDS = { message: 1, cause: 2, trace: 3, actor: 4, effect: 5 } as const;

export type KeyKind = keyof typeof KEY_KINDS;

/**
 * Hash of a key: 40 bits of two multiplicative hashes over its characters, two at a time. Stored runs hold it, so it
 * never changes. Two keys may share a hash: the reader compares the deliveries that it finds.
 */
export function hashOf(kind: KeyKind, tenant: string, id: string): number {
  let one = 0xdeadbeef ^ KEY_KINDS[kind];
  let two = 0x41c6ce57 ^ tenant.length;
  for (let at = 0; at < tenant.length; at += 1) {
    const code = tenant.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    two = Math.imul(two ^ code, 0x5f356495);
  }
  const pairs = id.length & ~1;
  for (let at = 0; at < pairs; at += 2) {
    const code = id.charCodeAt(at) | (id.charCodeAt(at + 1) << 16);
    one = Math.imul(one ^ code ^ (one >>> 15), 0x9e3779b1);
    two = Math.imul(two ^ code ^ (two >>> 17), 0x5f356495);
  }
  if (pairs < id.length) {
    const code = id.charCodeAt(pairs) + 1;
    one = Math.imul(one ^ code, 0x9e3779b1);
    two = Math.imul(two ^ code, 0x5f356495);
  }
  one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(two ^ (two >>> 13), 0xc2b2ae35);
  two = Math.imul(two ^ (two >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
  return ((two >>> 8) & 0xff) * 2 ** 32 + ((one ^ (one >>> 15)) >>> 0);
}
