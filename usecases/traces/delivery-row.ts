import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import { isoTime } from './reader-view.ts';

export const OUTCOMES = ['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown'] as const;

/**
 * Outcome of a delivery. `retried`: it failed and is tried again; `deferred`: it waits behind one that fails; `stale`: a timer
 * that was cleared or set again; `unknown`: its node recorded no turns.
 */
export type DeliveryOutcome = (typeof OUTCOMES)[number];

/** One delivery of a trace, as clients get it. */
export interface DeliveryRow {
  readonly message_id: string;
  /** Null only for the root. */
  readonly cause_id: string | null;
  readonly from: string | null;
  readonly to: string;
  readonly type: string;
  /** When it was appended, ISO 8601. */
  readonly at: string;
  readonly wait_ms: number;
  readonly turn_ms: number;
  readonly node: string | null;
  readonly epoch: number;
  readonly attempt: number;
  readonly outcome: DeliveryOutcome;
}

export function outcomeOf({ row }: Pick<LedgerDelivery, 'row'>): DeliveryOutcome {
  if (row === null || row.outcome === 'postponed') return 'unknown';
  return row.outcome;
}

export function deliveryRow(delivery: LedgerDelivery, attempt: number): DeliveryRow {
  const { message, at, row, node, epoch } = delivery;
  return {
    message_id: message.id,
    cause_id: message.cause,
    from: message.from,
    to: message.to,
    type: message.type,
    at: isoTime(at),
    wait_ms: row?.waitMs ?? 0,
    turn_ms: (row?.turnUs ?? 0) / 1_000,
    node,
    epoch,
    attempt,
    outcome: outcomeOf(delivery),
  };
}

/** Attempt number of each delivery of one message, oldest first: each delivery after a `retried` one is the next attempt. */
export function attemptsOf(deliveries: readonly Pick<LedgerDelivery, 'row'>[]): number[] {
  let attempt = 1;
  return deliveries.map((one) => {
    const now = attempt;
    if (outcomeOf(one) === 'retried') attempt += 1;
    return now;
  });
}
