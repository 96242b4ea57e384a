/** Times of one delivery, Unix ms. */
export interface TimedDelivery {
  readonly message_id: string;
  readonly cause_id: string | null;
  readonly to: string;
  readonly type: string;
  readonly at: number;
  readonly wait_ms: number;
  readonly turn_ms: number;
  /** How it came about: its sender, or the kind of the effect whose result it is. */
  readonly origin: 'client' | 'actor' | 'timer' | 'effect';
  readonly effect_kind: string | null;
}

export const STEP_KINDS = ['mailbox', 'turn', 'effect', 'timer', 'relay'] as const;

/**
 * A stretch of time of the critical path: in a mailbox, in a turn, in an effect, until a timer fired, or on the way
 * from one actor to the next (`relay`).
 */
export interface PathStep {
  readonly kind: (typeof STEP_KINDS)[number];
  /** Kind of the effect, for `effect`. */
  readonly effect_kind: string | null;
  /** The delivery that the stretch ends in or belongs to. */
  readonly message_id: string;
  readonly to: string;
  readonly type: string;
  /** Unix ms. */
  readonly from: number;
  readonly until: number;
}

/** Time at which the turn of a delivery ended. */
export const endOf = ({ at, wait_ms, turn_ms }: Pick<TimedDelivery, 'at' | 'wait_ms' | 'turn_ms'>): number =>
  at + wait_ms + turn_ms;

/** The last delivery of each message: the attempt that counted. */
function lastByMessage(deliveries: readonly TimedDelivery[]): ReadonlyMap<string, TimedDelivery> {
  const last = new Map<string, TimedDelivery>();
  for (const one of deliveries) {
    const known = last.get(one.message_id);
    if (known === undefined || endOf(one) >= endOf(known)) last.set(one.message_id, one);
  }
  return last;
}

/**
 * The chain of causes that ended last, as stretches without gaps from its first message to its end. Clocks of nodes
 * may differ: a stretch that would begin after it ends is empty.
 */
export function criticalPath(deliveries: readonly TimedDelivery[]): PathStep[] {
  const messages = lastByMessage(deliveries);
  let delivery: TimedDelivery | undefined;
  for (const one of messages.values()) {
    if (delivery === undefined || endOf(one) > endOf(delivery)) delivery = one;
  }
  if (delivery === undefined) return [];
  const steps: PathStep[] = [];
  const seen = new Set<string>();
  let until = endOf(delivery);
  const add = (kind: PathStep['kind'], of: TimedDelivery, begin: number): void => {
    const from = Math.min(begin, until);
    const { message_id, to, type, effect_kind } = of;
    if (from < until) {
      steps.push({ kind, effect_kind: kind === 'effect' ? effect_kind : null, message_id, to, type, from, until });
    }
    until = from;
  };
  while (delivery !== undefined && !seen.has(delivery.message_id)) {
    seen.add(delivery.message_id);
    add('turn', delivery, delivery.at + delivery.wait_ms);
    add('mailbox', delivery, delivery.at);
    const cause: TimedDelivery | undefined = delivery.cause_id === null ? undefined : messages.get(delivery.cause_id);
    if (cause !== undefined && !seen.has(cause.message_id)) add(gapOf(delivery), delivery, endOf(cause));
    delivery = cause;
  }
  return steps.reverse();
}

/** The kind of the time between the turn that caused a message and its arrival in the mailbox. */
function gapOf({ origin }: TimedDelivery): PathStep['kind'] {
  return origin === 'effect' || origin === 'timer' ? origin : 'relay';
}
