import type { Address } from '../address.ts';
import type { ActorClient, ActorSnapshot } from '../client.ts';
import type { Registry } from '../define-actor.ts';
import { invalidField, SvcError } from '../errors.ts';
import { type Json, plainJson } from '../json.ts';
import type { LedgerDelivery, LedgerReader } from '../ledger/ledger-reader.ts';
import type { Message } from '../message.ts';
import type { DrainedTurn, TurnRow } from '../turns/actor-draft.ts';
import { decodeEntry } from '../turns/loading.ts';
import type { Payloads } from '../turns/payload.ts';
import type { ActorLine, DeliveryLine, OpenLine, RecordingLine } from './recording.ts';

export interface RecordParts {
  readonly client: Pick<ActorClient, 'read' | 'events'>;
  readonly registry: Pick<Registry, 'definitionOf'>;
  readonly ledger: Pick<LedgerReader, 'actor'>;
  readonly payloads: Payloads;
  /** Reads the open work of an actor. Absent: it is not recorded. */
  readonly open?: (actor: ActorSnapshot) => Promise<Pick<OpenLine, 'timers' | 'effects'>>;
}

/** The view of the caller who records. */
export interface RecordedFor {
  /** Takes secrets out of a value. Returns the same value when there are none. */
  mask(value: Json): Json;
  /** Takes secrets out of an error. */
  maskText(text: string): string;
  sees(message: Message): Promise<boolean>;
}

/** For an author's own histories: everything. */
const EVERYTHING: RecordedFor = {
  mask: (value) => value,
  maskText: (text) => text,
  sees: async () => true,
};

/** A part of an actor's lines. `next` continues behind it; null at the end. */
export interface RecordedPage {
  readonly lines: readonly RecordingLine[];
  readonly next: string | null;
}

const EVENTS_AT_ONCE = 500;
const DELIVERIES_AT_ONCE = 200;

/** Characters of a page, as long as one line is not longer. */
const MOST_PAGE_CHARS = 8 * 1024 * 1024;

/**
 * Reads a part of what a recording keeps of one actor: its state and events, then its deliveries with their whole
 * messages. Throws `not_found` for an unknown actor, and `invalid_argument` naming `next`.
 */
export async function recordActor(
  parts: RecordParts,
  address: Address,
  next: string | undefined,
  reader: RecordedFor = EVERYTHING,
): Promise<RecordedPage> {
  const [, kind, after = ''] = /^([ed])(.*)$/.exec(next ?? 'e0') ?? [];
  if (kind === 'd') return deliveries(parts, address, after === '' ? undefined : after, reader);
  if (kind !== 'e' || !/^\d{1,15}$/.test(after)) {
    throw invalidField('next', 'expected the `next` of a page before');
  }
  const first = Number(after);
  const lines: RecordingLine[] = first === 0 ? [await actorLine(parts, address, reader)] : [];
  let chars = 0;
  let last = first;
  const events = await parts.client.events(address, first, EVENTS_AT_ONCE);
  for (const { seq, at, name, payload } of events) {
    if (chars > MOST_PAGE_CHARS) break;
    const shown = reader.mask(payload);
    chars += JSON.stringify(shown).length;
    lines.push({ event: seq, at, name, payload: shown, ...maskedPart(shown !== payload) });
    last = seq;
  }
  const isWhole = events.length < EVENTS_AT_ONCE && last === (events.at(-1)?.seq ?? first);
  return { lines, next: isWhole ? 'd' : `e${last}` };
}

const maskedPart = (masked: boolean): { readonly masked?: true } => (masked ? { masked: true } : {});

async function actorLine(parts: RecordParts, address: Address, reader: RecordedFor): Promise<ActorLine> {
  const { client, registry } = parts;
  const snapshot = await client.read(address);
  const definition = registry.definitionOf(address);
  if (snapshot === null || definition === undefined) throw new SvcError('not_found', 'actor not found');
  const state = plainJson(snapshot.state);
  const shown = reader.mask(state);
  return {
    actor: address,
    version: definition.version,
    revision: snapshot.revision,
    last_event: snapshot.lastEvent,
    archived: snapshot.archived,
    state: shown,
    open: await openLine(parts, snapshot, reader),
    ...maskedPart(shown !== state),
  };
}

/** Undefined when the actor waits for nothing. */
async function openLine(
  { open }: RecordParts,
  snapshot: ActorSnapshot,
  reader: RecordedFor,
): Promise<OpenLine | undefined> {
  const { stuck } = snapshot;
  const found = await open?.(snapshot);
  const { timers, effects } = found ?? { timers: [], effects: [] };
  if (timers.length === 0 && effects.length === 0 && stuck === null) return undefined;
  const shown = effects.map((effect) => {
    const { last_error: error } = effect;
    return { ...effect, last_error: error && { ...error, message: reader.maskText(error.message) } };
  });
  if (stuck === null) return { timers, effects: shown, stuck };
  const { messageType, error, attempts } = stuck;
  return { timers, effects: shown, stuck: { message_type: messageType, error: reader.maskText(error), attempts } };
}

async function deliveries(
  parts: RecordParts,
  address: Address,
  after: string | undefined,
  reader: RecordedFor,
): Promise<RecordedPage> {
  let page = await parts.ledger.actor(address, { limit: DELIVERIES_AT_ONCE, after });
  const lines: RecordingLine[] = [];
  let chars = 0;
  for (const [index, delivery] of page.deliveries.entries()) {
    if (delivery.part !== undefined) continue;
    const line = await deliveryLine(parts.payloads, delivery, reader);
    lines.push(line);
    chars += 'message' in line ? JSON.stringify(line.message).length : 0;
    if (chars <= MOST_PAGE_CHARS || index + 1 === page.deliveries.length) continue;
    page = await parts.ledger.actor(address, { limit: index + 1, after });
    break;
  }
  return { lines, next: page.next === null ? null : `d${page.next}` };
}

async function deliveryLine(
  payloads: Payloads,
  delivery: LedgerDelivery,
  reader: RecordedFor,
): Promise<DeliveryLine | { readonly hidden: number }> {
  const { seq, at, epoch, node, partition, row, body } = delivery;
  const message = body.startsWith('@') ? await decodeEntry(payloads, body) : delivery.message;
  if (message instanceof SvcError || !(await reader.sees(message))) return { hidden: seq };
  const shown = maskedMessage(message, reader);
  const turn = row === null ? null : await maskedRow(payloads, row, reader);
  return { delivery: seq, at, epoch, node, partition, row: turn, message: shown, ...maskedPart(shown !== message) };
}

function maskedMessage(message: Message, reader: RecordedFor): Message {
  const payload = reader.mask(message.payload);
  return payload === message.payload ? message : { ...message, payload };
}

/** The row with the texts of the messages that a retry handled, and without secrets in errors. */
async function maskedRow(payloads: Payloads, row: TurnRow, reader: RecordedFor): Promise<TurnRow> {
  const error = row.error === undefined ? undefined : reader.maskText(row.error);
  if (row.drained === undefined) return { ...row, error };
  const drained: DrainedTurn[] = [];
  for (const line of row.drained) {
    const message = await decodeEntry(payloads, line.body);
    const body = message instanceof SvcError ? '{}' : JSON.stringify(maskedMessage(message, reader));
    drained.push({ ...line, body, error: line.error === undefined ? undefined : reader.maskText(line.error) });
  }
  return { ...row, error, drained };
}
