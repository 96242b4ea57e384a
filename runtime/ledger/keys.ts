import type { Address } from '../address.ts';
import { isJsonObject } from '../json.ts';
import type { Message } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { decodeMessageText } from '../turns/codec.ts';
import { isSpilled } from '../turns/payload.ts';

/** The part of a message in Blobs that the ledger keeps beside the reference: all but the payload, and the id of its effect. */
export interface Envelope extends Omit<Message, 'payload'> {
  readonly effect?: string;
}

/** The keys by which a delivery is found. */
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
  if (origin !== 'effect' || !isJsonObject(payload)) return null;
  const { effectId } = payload;
  return typeof effectId === 'string' ? effectId : null;
}

function envelopeOf({ payload: _, ...rest }: Message, effect: string | null): Envelope {
  return effect === null ? rest : { ...rest, effect };
}

/** Whether the body of a delivery with its turn contains all its keys. */
export const saysItsKeys = (body: string, row: Pick<TurnRow, 'drained'> | undefined): boolean =>
  body.startsWith('{') && row?.drained === undefined;

/** How bodies begin, unless they are results of effects or carry a span. It matches addresses only. */
const HEAD =
  /^\{"id":"([^"\\]+)","to":"([^"\\]+\/[^"\\]+\/[^"\\]+)","from":(?:null|"[^"\\]+"),"cause":(?:null|"([^"\\]+)"),"trace":"([^"\\]+)","origin":"(?:client|actor|timer)"/;

const isMatched = (to: string | undefined): to is Address => to !== undefined;

/** The receiver and the keys in the body of a message; null when the body does not contain them. */
export function keysIn(body: string): { readonly to: Address; readonly keys: DeliveryKeys } {
  const [, id, to, cause = null, trace] = HEAD.exec(body) ?? [];
  if (id !== undefined && trace !== undefined && isMatched(to))
    return { to, keys: { id, cause, trace, effect: null, envelope: null } };
  const message = decodeMessageText(body);
  return { to: message.to, keys: keysOf(message, body) };
}
