import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json } from '../../runtime/json.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import type { MessageOrigin } from '../../runtime/message.ts';
import { attemptsOf, type DeliveryOutcome, type DeliveryRow, deliveryRow, outcomeOf } from './delivery-row.ts';
import { isoTime, shownValue, withoutSecrets } from './reader-view.ts';
import { Sight } from './sight.ts';
import { keptLedger, type TraceParts } from './trace.ts';
import { payloadOf } from './trace-effects.ts';

/** One attempt to handle a message. */
interface MessageAttempt {
  readonly attempt: number;
  readonly at: string;
  readonly wait_ms: number;
  readonly turn_ms: number;
  readonly node: string | null;
  readonly epoch: number;
  readonly outcome: DeliveryOutcome;
  readonly error: string | null;
}

/** A message with its outcome. */
interface ShownMessage {
  readonly message_id: string;
  readonly trace_id: string;
  readonly cause_id: string | null;
  readonly from: string | null;
  readonly to: string;
  readonly type: string;
  readonly origin: MessageOrigin;
  /** Effect whose result or progress it is; null for others. */
  readonly effect_id: string | null;
  /** The caller whose call it follows from; null when it carries none. */
  readonly caller: { readonly kind: string; readonly subject: string } | null;
  /** Without secrets. */
  readonly payload: Json;
  readonly payload_chars: number;
  readonly payload_omitted?: true;
  /** Outcome of the last attempt. */
  readonly outcome: DeliveryOutcome;
  readonly attempts: readonly MessageAttempt[];
}

/** A delivery with its distance from the requested message. */
interface DistantDelivery extends DeliveryRow {
  readonly depth: number;
}

interface MessageChain {
  readonly message_id: string;
  readonly deliveries: readonly DistantDelivery[];
  /** Whether there is more behind the depth, or beyond the most that one answer holds. */
  readonly cut: boolean;
  readonly kept_from?: string;
}

/** Single messages. All calls throw `not_found` for what the reader may not see. */
export interface MessageApi {
  get(viewer: Identity, id: string): Promise<ShownMessage>;
  /** The messages that led to it, nearest first. */
  causes(viewer: Identity, id: string, depth: number): Promise<MessageChain>;
  /** The messages that followed from it, nearest first. */
  effects(viewer: Identity, id: string, depth: number): Promise<MessageChain>;
}

export const MOST_DEPTH = 20;

/** Most deliveries of one answer. */
const MOST_ROWS = 1_000;

export function createMessageApi(parts: TraceParts): MessageApi {
  return {
    async get(viewer, id) {
      const { deliveries } = await opened(parts, viewer, id);
      return shownMessage(parts, deliveries);
    },

    async causes(viewer, id, depth) {
      const { ledger, sight, deliveries } = await opened(parts, viewer, id);
      const rows: DistantDelivery[] = [];
      const seen = new Set([id]);
      let [next] = deliveries;
      while (next !== undefined && rows.length < depth) {
        const cause = next.message.cause;
        if (cause === null || seen.has(cause)) return chain(parts, sight, id, rows, false);
        seen.add(cause);
        const found = await visible(sight, await ledger.message(sight.tenant, cause));
        const row = lastRow(found, rows.length + 1);
        if (row === null) return chain(parts, sight, id, rows, false);
        rows.push(row);
        next = found[0];
      }
      return chain(parts, sight, id, rows, next !== undefined && next.message.cause !== null);
    },

    async effects(viewer, id, depth) {
      const { ledger, sight } = await opened(parts, viewer, id);
      const rows: DistantDelivery[] = [];
      const seen = new Set([id]);
      let level = [id];
      for (let at = 1; level.length > 0; at += 1) {
        const found = await Promise.all(level.map((cause) => ledger.causedBy(sight.tenant, cause)));
        const messages = Map.groupBy(await visible(sight, found.flat()), ({ message }) => message.id);
        const fresh = [...messages].filter(([one]) => !seen.has(one));
        if (fresh.length === 0) break;
        if (at > depth) return chain(parts, sight, id, rows, true);
        for (const [one, deliveries] of fresh) {
          if (rows.length === MOST_ROWS) return chain(parts, sight, id, rows, true);
          seen.add(one);
          const row = lastRow(deliveries, at);
          if (row !== null) rows.push(row);
        }
        level = fresh.map(([one]) => one);
      }
      return chain(parts, sight, id, rows, false);
    },
  };
}

async function opened(parts: TraceParts, viewer: Identity, id: string) {
  const ledger: LedgerReader = keptLedger(parts);
  const sight = new Sight(parts, viewer);
  const deliveries = await visible(sight, await ledger.message(sight.tenant, id));
  if (deliveries.length === 0) throw new SvcError('not_found', 'message not found');
  return { ledger, sight, deliveries };
}

async function visible(sight: Sight, deliveries: readonly LedgerDelivery[]): Promise<LedgerDelivery[]> {
  const seen = await Promise.all(deliveries.map(({ message }) => sight.seesMessage(message)));
  return deliveries.filter((_one, index) => seen[index]);
}

/** The row of the last attempt, which counted. */
function lastRow(deliveries: readonly LedgerDelivery[], depth: number): DistantDelivery | null {
  const last = deliveries.at(-1);
  if (last === undefined) return null;
  return { ...deliveryRow(last, attemptsOf(deliveries).at(-1) ?? 1), depth };
}

async function chain(
  parts: TraceParts,
  { tenant }: Sight,
  message_id: string,
  deliveries: readonly DistantDelivery[],
  cut: boolean,
): Promise<MessageChain> {
  const keptFrom = await keptLedger(parts).keptFrom(tenant);
  return { message_id, deliveries, cut, ...(keptFrom === null ? {} : { kept_from: isoTime(keptFrom) }) };
}

async function shownMessage({ payloads }: TraceParts, deliveries: readonly LedgerDelivery[]): Promise<ShownMessage> {
  const [first] = deliveries;
  const last = deliveries.at(-1);
  if (first === undefined || last === undefined) throw new SvcError('not_found', 'message not found');
  const { id, trace, cause, from, to, type, origin, identity } = first.message;
  const { value, chars, omitted } = shownValue(await payloadOf(payloads, first));
  const numbers = attemptsOf(deliveries);
  return {
    message_id: id,
    trace_id: trace,
    cause_id: cause,
    from,
    to,
    type,
    origin,
    effect_id: first.effect,
    caller: identity === undefined ? null : { kind: identity.kind, subject: identity.subject },
    payload: value,
    payload_chars: chars,
    ...(omitted === undefined ? {} : { payload_omitted: omitted }),
    outcome: outcomeOf(last),
    attempts: deliveries.map((one, index) => attemptOf(one, numbers[index] ?? 1)),
  };
}

function attemptOf(delivery: LedgerDelivery, attempt: number): MessageAttempt {
  const { at, wait_ms, turn_ms, node, epoch, outcome } = deliveryRow(delivery, attempt);
  const error = delivery.row?.error;
  return {
    attempt,
    at,
    wait_ms,
    turn_ms,
    node,
    epoch,
    outcome,
    error: error === undefined ? null : withoutSecrets(error),
  };
}
