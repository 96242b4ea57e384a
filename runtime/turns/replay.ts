import type { Address, Partition } from '../address.ts';
import { parseAddress } from '../address.ts';
import type { ActorEvent } from '../client.ts';
import type { ActorDefinition } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import { RETRY_TIMER, type RetrySettings, type TurnRow } from './actor-draft.ts';
import { Batch, sumState } from './batch.ts';
import type { BatchWrites } from './batch-writes.ts';
import { NOT_SUMMED, partsOf, stateDigest, TURN_PARTS, type TurnPart } from './digest.ts';
import { initialRecord } from './loading.ts';
import type { ActorRecord } from './record.ts';

/** Partition of a replayed actor, which lives in no store. */
const NOWHERE: Partition = 'replay:0';

/** One delivery as recorded in the ledger (R3). */
export interface LedgerLine {
  /**
   * Position in the partition: the number of its mailbox entry, with a fraction for a result handled beside the
   * mailbox.
   */
  readonly seq: number;
  /** Set for a turn that the retry at `seq` handled. Replay skips it: the delivery of the retry has it too. */
  readonly part?: number;
  /** When it was appended, Unix ms on the store's clock. */
  readonly at: number;
  /** Lease epoch of the commit that handled it. */
  readonly epoch: number;
  /** Outcome of the delivery; null when the node kept no ledger. */
  readonly row: TurnRow | null;
  /** The message as it was in the mailbox. */
  readonly body: string;
  readonly message: Message;
}

type ReplayedEvent = Omit<ActorEvent, 'payload'> & { readonly payload: unknown };

interface Replayed {
  readonly record: ActorRecord;
  readonly events: readonly ReplayedEvent[];
  /** Deliveries that were replayed. */
  readonly handled: number;
  /** Turns whose decisions could be compared: those of rows with a digest. */
  readonly compared: number;
  /** The first turn that came out differently; null when all are equal. */
  readonly difference: ReplayDifference | null;
}

/** A turn that came out differently than recorded. */
export interface ReplayDifference {
  readonly seq: number;
  /** When the message was appended, Unix ms. */
  readonly at: number;
  readonly message: Message;
  /** The parts that differ. Of a turn with another outcome nothing else is compared. */
  readonly parts: readonly ('outcome' | TurnPart)[];
  readonly recorded: Pick<TurnRow, 'outcome' | 'error'>;
  readonly replayed: Pick<TurnRow, 'outcome' | 'error'>;
  /** State before the delivery, and after it as it came out now. */
  readonly before: unknown;
  readonly after: unknown;
  /** Number of the actor's last event before the delivery. */
  readonly lastEvent: number;
  /** The decisions of the delivery in the replay. */
  readonly decided: {
    readonly events: readonly { readonly name: string; readonly payload: unknown }[];
    readonly effects: readonly { readonly id: string; readonly request: unknown }[];
    readonly messages: readonly Pick<Message, 'id' | 'to' | 'type' | 'payload'>[];
    readonly timers: readonly { readonly id: string; readonly afterMs: number }[];
  };
}

/**
 * Rebuilds an actor from its deliveries up to any of them (K5): turns are pure, their time is recorded, and a handler
 * that threw when it was recorded is not run again. Each turn is compared with what was recorded of it. `retry` holds
 * the settings under which the deliveries were handled. Throws `failed_precondition` for a line without its turn,
 * written by a node that kept no ledger.
 */
export async function replayActor(
  definition: ActorDefinition,
  address: Address,
  lines: AsyncIterable<LedgerLine> | Iterable<LedgerLine>,
  options: {
    readonly retry: RetrySettings;
    /** The last position to replay. */
    readonly upTo?: number;
    /** Ends at the first turn that came out differently: what follows from it differs as well. */
    readonly untilDifference?: boolean;
    /** Ends before the first delivery after which this holds. */
    readonly until?: (record: ActorRecord) => boolean;
    /** Called with what each delivery would write. */
    readonly onWrites?: (line: LedgerLine, writes: BatchWrites) => void;
  },
): Promise<Replayed> {
  const { tenant, id } = parseAddress(address);
  const upTo = options.upTo ?? Number.POSITIVE_INFINITY;
  let record = initialRecord(definition, { address, tenant, id });
  const events: ReplayedEvent[] = [];
  const bodies = new Map<string, Message>();
  const comparison = new Comparison(record.state);
  let difference: ReplayDifference | null = null;
  let handled = 0;
  for await (const line of lines) {
    const { seq, at, row, body, message } = line;
    if (seq > upTo) break;
    if (line.part !== undefined) continue;
    if (row === null) throw new SvcError('failed_precondition', `delivery ${seq} has no turn in the ledger`);
    bodies.set(body, message);
    // Never run, or dead-lettered at its first attempt: it changed nothing.
    if (row.outcome === 'dead-lettered') {
      handled += 1;
      continue;
    }
    const batch = batchOf(row, message, bodies, options.retry);
    const self = { address, partition: NOWHERE, term: 0, tenant, definition };
    const before = record;
    batch.deliver({ seq, at, body }, message, { ...self, record, text: null, owned: false, size: 0 }, bodies);
    const { until } = options;
    if (until !== undefined && [...batch.writes.drafts.values()].some((work) => until(work.record))) break;
    handled += 1;
    for (const work of batch.writes.drafts.values()) {
      sumState(work, JSON.stringify(work.record.state));
      for (const [index, event] of work.events.entries()) events.push({ ...event, seq: work.firstEvent + index });
      record = work.record;
    }
    options.onWrites?.(line, batch.writes);
    const found = comparison.of(row, batch.rows[0], message, bodies);
    if (found !== null && difference === null) {
      difference = {
        seq,
        at,
        ...found,
        before: before.state,
        after: record.state,
        lastEvent: before.lastEvent,
        decided: decidedIn(batch.writes),
      };
      if (options.untilDifference === true) break;
    }
    if (record.stuck === null) bodies.clear();
  }
  return { record, events, handled, compared: comparison.turns, difference };
}

/** A batch of one delivery under the conditions in its row. */
function batchOf(row: TurnRow, message: Message, bodies: ReadonlyMap<string, Message>, retry: RetrySettings): Batch {
  const failing = new Map<string, string>();
  const note = (failed: Message | undefined, line: { readonly outcome: string; readonly error?: string }): void => {
    if (failed === undefined || (line.outcome !== 'retried' && line.outcome !== 'dead-lettered')) return;
    failing.set(failed.id, line.error ?? '');
  };
  if (message.timer !== RETRY_TIMER) note(message, row);
  for (const line of row.drained ?? []) note(bodies.get(line.body), line);
  const drainLimit = Math.max(1, row.drained?.length ?? 0);
  return new Batch(row.now, () => 0, { ...retry, drainLimit, failing, digests: true });
}

/** The decisions of a delivery, in the form of a difference. */
export function decidedIn({ drafts, effects, sends, replies, timersSet }: BatchWrites): ReplayDifference['decided'] {
  return {
    events: [...drafts.values()].flatMap((draft) => draft.events.map(({ name, payload }) => ({ name, payload }))),
    effects: effects.map(({ id, request }) => ({ id, request })),
    messages: [
      ...sends.map(({ id, to, type, payload }) => ({ id, to, type, payload })),
      ...replies.map(({ message, reply }) => ({
        id: `${message.id}-reply`,
        to: message.to,
        type: 'answer',
        payload: reply.ok ? reply.value : { code: reply.code, message: reply.message },
      })),
    ],
    timers: timersSet.map(({ id, afterMs }) => ({ id, afterMs })),
  };
}

type TurnLine = Pick<TurnRow, 'outcome' | 'error' | 'digest'>;

/** Compares turns with their rows. An absent checksum of a state means that the state before it stayed. */
class Comparison {
  turns = 0;
  #state: string | undefined;

  constructor(initial: unknown) {
    this.#state = partsOf(stateDigest(JSON.stringify(initial))).state;
  }

  /** The first difference in a delivery: in its own turn, or in one of those that a retry handled. */
  of(
    recorded: TurnRow,
    replayed: TurnRow | undefined,
    message: Message,
    bodies: ReadonlyMap<string, Message>,
  ): Pick<ReplayDifference, 'message' | 'parts' | 'recorded' | 'replayed'> | null {
    if (replayed === undefined) return null;
    const turns: { message: Message; recorded: TurnLine; replayed: TurnLine | undefined }[] = [
      { message, recorded, replayed },
    ];
    for (const [index, line] of (recorded.drained ?? []).entries()) {
      turns.push({ message: bodies.get(line.body) ?? message, recorded: line, replayed: replayed.drained?.[index] });
    }
    for (const turn of turns) {
      const now = turn.replayed ?? { outcome: 'deferred' };
      const parts = this.#partsOf(turn.recorded, now);
      if (parts.length > 0)
        return { message: turn.message, parts, recorded: outcomeOf(turn.recorded), replayed: outcomeOf(now) };
    }
    return null;
  }

  #partsOf(recorded: TurnLine, replayed: TurnLine): ReplayDifference['parts'] {
    if (recorded.outcome !== replayed.outcome) return ['outcome'];
    if (recorded.outcome === 'refused') return recorded.error === replayed.error ? [] : ['messages'];
    const now = partsOf(replayed.digest ?? '');
    const before = this.#state;
    this.#state = now.state ?? before;
    if (recorded.digest === undefined) return [];
    this.turns += 1;
    const then = partsOf(recorded.digest);
    return TURN_PARTS.filter((name) => {
      if (name !== 'state') return then[name] !== now[name];
      return then.state !== NOT_SUMMED && (then.state ?? before) !== this.#state;
    });
  }
}

const outcomeOf = ({ outcome, error }: TurnLine): Pick<TurnRow, 'outcome' | 'error'> => ({ outcome, error });
