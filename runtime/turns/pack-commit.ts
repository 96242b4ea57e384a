import type {
  Commit,
  CommitReply,
  EffectAttemptRef,
  EffectOpen,
  EventAppend,
  Lease,
  PartitionChanges,
  TimerSet,
} from '../actor-store.ts';
import { type Address, isSharedLog, type Log, type Partition, poolOf } from '../address.ts';
import { encodeRequest, fairnessPart } from '../effects/effect-envelope.ts';
import { SvcError } from '../errors.ts';
import type { Locator } from '../locator.ts';
import type { Delivery, MailboxEntry, Message } from '../message.ts';
import { type TurnRow, timerId } from './actor-draft.ts';
import { type Batch, sumState } from './batch.ts';
import type { BatchWrites } from './batch-writes.ts';
import { encodeEvent, encodeMessage, encodeReply } from './codec.ts';
import type { Payloads } from './payload.ts';
import { type ActorRecord, encodeRecord, type Stuck } from './record.ts';

/** A batch encoded for the store, with the new text of each changed actor for the cache. */
export interface PackedBatch {
  readonly commit: Commit;
  readonly texts: ReadonlyMap<string, string>;
  /** Characters of each text before it was stored in Blobs. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Full encoded requests of the effects that it opens, by id. */
  readonly requests: ReadonlyMap<string, string>;
  /** The rows of its turns as JSON, as far as the journal has them. */
  readonly rowTexts: readonly string[];
  /** These, with commas between them. */
  readonly turns: string;
}

const MOST_WAITING_CHARS = 16_384;

/** The input of a batch. */
interface Taken {
  /** Readable messages that it took from the mailbox, and results. */
  readonly messages: readonly Message[];
  /** Results handled beside the mailbox. */
  readonly results: readonly MailboxEntry[];
  /** Effects of these results that are open in the store. */
  readonly settles: readonly (EffectAttemptRef & { readonly partition: Partition })[];
  /** Entries that are not handled now. */
  readonly postponed: readonly { readonly entry: MailboxEntry & { readonly partition: Partition } }[];
  /** Postponed entries that it handled. */
  readonly resumed: readonly MailboxEntry[];
  /** Partitions of the actors of these messages. */
  readonly places: ReadonlyMap<Address, Partition>;
}

/** Changes of one partition while they are collected. */
class Draft implements PartitionChanges {
  readonly records: PartitionChanges['records'][number][] = [];
  readonly events: EventAppend[] = [];
  readonly sends: PartitionChanges['sends'][number][] = [];
  readonly timersSet: TimerSet[] = [];
  readonly timersCleared: string[] = [];
  readonly effectsOpened: EffectOpen[] = [];
  readonly effectsCancelled: string[] = [];
  readonly settles: EffectAttemptRef[] = [];
  readonly postponed: NonNullable<PartitionChanges['postponed']>[number][] = [];
  readonly resumed: number[] = [];
}

/** The changes of a batch, by partition. */
class Drafts {
  readonly #log: Log;
  readonly #places: ReadonlyMap<Address, Partition>;
  readonly #drafts = new Map<Partition, Draft>();

  constructor(log: Log, places: ReadonlyMap<Address, Partition>) {
    this.#log = log;
    this.#places = places;
  }

  /** The changes of the partition of an actor of this batch. */
  of(actor: Address | null | undefined): Draft {
    if (!isSharedLog(this.#log)) return this.in(this.#log);
    const partition = actor == null ? undefined : this.#places.get(actor);
    if (partition === undefined) throw new SvcError('internal', `${actor} is not of this batch`);
    return this.in(partition);
  }

  in(partition: Partition): Draft {
    let draft = this.#drafts.get(partition);
    if (draft === undefined) {
      draft = new Draft();
      this.#drafts.set(partition, draft);
    }
    return draft;
  }

  /** The changes in the form that the commit has. */
  get changes(): Draft & Pick<Commit, 'partitions'> {
    if (!isSharedLog(this.#log)) return this.in(this.#log);
    return { ...new Draft(), partitions: [...this.#drafts].map(([partition, draft]) => ({ partition, ...draft })) };
  }
}

/** Encodes a batch. Large parts go to Blobs first, so that the commit itself stays small (K3, K7). */
export async function packCommit(
  { writes, rows }: Batch,
  lease: Lease,
  cursor: Pick<Commit, 'after' | 'upTo' | 'upToAt' | 'beside' | 'results'>,
  run: Taken,
  /** Requests that are already encoded, by effect id. */
  encoded: ReadonlyMap<string, string>,
  kernel: { readonly payloads: Payloads; readonly locator: Locator; readonly ledger: boolean },
): Promise<PackedBatch> {
  const { payloads, locator } = kernel;
  const deliver = async (message: Message): Promise<Delivery> => {
    const body = encodeMessage(payloads, message);
    return { id: message.id, to: message.to, body: typeof body === 'string' ? body : await body };
  };
  const drafts = new Drafts(lease.log, run.places);
  const texts = new Map<string, string>();
  const sizes = new Map<string, number>();
  for (const work of writes.drafts.values()) {
    const { address, definition, partition } = work.activation;
    if (work.dirty) {
      if (work.record.stuck !== null) work.record = await slim(work.record, work.record.stuck, address, payloads);
      // Each commit's record has bytes of its own, so that they can be deleted when the next one replaced it.
      const owner = `${address}#${lease.grant}#${cursor.upTo}.${cursor.beside ?? 0}`;
      const state = JSON.stringify(work.record.state);
      sumState(work, state);
      const encoded = encodeRecord(definition.version, work.record, state);
      sizes.set(address, encoded.length);
      const packed = payloads.packOwned(address, encoded, owner);
      const record = typeof packed === 'string' ? packed : await packed;
      texts.set(address, record);
      drafts.in(partition).records.push({ address, record });
    }
    if (work.events.length > 0) {
      const data: string[] = [];
      for (const { name, at, payload } of work.events) {
        const text = encodeEvent(payloads, address, { name, at, payload: writes.texts.of(payload) });
        data.push(typeof text === 'string' ? text : await text);
      }
      drafts.in(partition).events.push({ address, first: work.firstEvent, data });
    }
  }
  for (const message of writes.sends) {
    const partition = locator.known(message.to) ?? (await locator.locate(message.to));
    const sent = await deliver(message);
    const delivery = writes.lazy.has(message.id) ? { ...sent, lazy: true } : sent;
    drafts.of(message.from).sends.push({ partition, delivery });
  }
  const replies: CommitReply[] = [];
  for (const { message, reply } of writes.replies) {
    if (message.session === undefined) continue;
    const body = encodeReply(payloads, message.to, reply);
    const partition = run.places.get(message.to);
    replies.push({
      session: message.session,
      messageId: message.id,
      body: typeof body === 'string' ? body : await body,
      ...(message.fresh === true ? { fresh: true } : {}),
      ...(partition === undefined ? {} : { partition }),
    });
  }
  const requests = new Map(encoded);
  const pending = pendingTimers(writes);
  for (const timer of writes.timersSet) {
    // A timer set and then cleared or replaced inside one batch: only the last change counts.
    if (pending.get(timer.id) !== timer.message.id) continue;
    const { id, to } = timer.message;
    const packed = payloads.pack(to, writes.texts.of(timer.message));
    const delivery = { id, to, body: typeof packed === 'string' ? packed : await packed };
    drafts.of(timer.message.to).timersSet.push({ id: timer.id, afterMs: timer.afterMs, delivery });
  }
  const stored = writes.timersCleared.length === 0 ? NONE : storedTimers(writes);
  for (const id of writes.timersCleared) {
    if (stored.has(id) && !pending.has(id)) drafts.of(writes.owners.get(id)).timersCleared.push(id);
  }
  await openEffects(writes, drafts, payloads, requests);
  for (const id of writes.effectsCancelled) drafts.of(writes.owners.get(id)).effectsCancelled.push(id);
  for (const { partition, id, attempt } of run.settles) drafts.in(partition).settles.push({ id, attempt });
  for (const { entry } of run.postponed) {
    const { partition, seq, at, body } = entry;
    drafts.in(partition).postponed.push({ seq, at, body });
  }
  for (const { partition, seq } of run.resumed) if (partition !== undefined) drafts.in(partition).resumed.push(seq);
  // Without the ledger a row only says that there is something to project, unless messages were deferred.
  const rowTexts = kernel.ledger || rows.some(isRare) ? rows.map(rowText) : [];
  const turns = rowTexts.join(',');
  return {
    texts,
    sizes,
    requests,
    rowTexts,
    turns,
    commit: {
      ...drafts.changes,
      lease,
      ...cursor,
      journal: journalText(lease, turns, run.results),
      replies,
      handled: [...writes.handled].map(([address, count]) => ({ address, count })),
      held: heldBack(run, writes.handled),
    },
  };
}

/** A row as JSON. Most rows are short: putting them together takes half the time of encoding an object. */
export function rowText(row: TurnRow): string {
  const { outcome, now, waitMs, turnUs, digest, error, attempt, drained } = row;
  if (error !== undefined || attempt !== undefined || drained !== undefined) return JSON.stringify(row);
  const sums = digest === undefined ? '' : `,"digest":"${digest}"`;
  return `{"outcome":"${outcome}","now":${now},"waitMs":${waitMs},"turnUs":${turnUs}${sums}}`;
}

/**
 * Text of a journal row. Bodies are JSON already and are inserted unchanged; one in Blobs is inserted as its reference,
 * a string.
 */
function journalText({ epoch, node, log }: Lease, turns: string, results: readonly MailboxEntry[]): string {
  const head = JSON.stringify({ epoch, node });
  const row = `${head.slice(0, -1)},"turns":[${turns}]}`;
  if (results.length === 0) return row;
  const lines = results.map(({ at, body, partition }) => {
    const where = partition === undefined || partition === log ? '' : `,${JSON.stringify(partition)}`;
    return `[${at},${body.startsWith('{') ? body : JSON.stringify(body)}${where}]`;
  });
  return `${row.slice(0, -1)},"results":[${lines.join(',')}]}`;
}

/**
 * Moves long messages that wait behind a failing one to Blobs. There may be many, so only short ones stay in the
 * actor's record.
 */
async function slim(record: ActorRecord, stuck: Stuck, actor: Address, payloads: Payloads): Promise<ActorRecord> {
  const behind = await Promise.all(
    stuck.behind.map((body) => (body.length > MOST_WAITING_CHARS ? payloads.spill(actor, body) : body)),
  );
  return { ...record, stuck: { ...stuck, behind } };
}

const NONE: ReadonlySet<string> = new Set();

/** Ids of timers that the store has for the actors of the batch. Others were set and cleared inside it. */
function storedTimers(writes: BatchWrites): ReadonlySet<string> {
  const stored = new Set<string>();
  for (const { activation } of writes.drafts.values())
    for (const name of Object.keys(activation.record.timers)) stored.add(timerId(activation.address, name));
  return stored;
}

/** Timers pending after the batch: timer id -> id of the message that will be sent. */
function pendingTimers(writes: BatchWrites): Map<string, string> {
  const pending = new Map<string, string>();
  for (const { activation, record } of writes.drafts.values()) {
    for (const [name, messageId] of Object.entries(record.timers))
      pending.set(timerId(activation.address, name), messageId);
  }
  return pending;
}

/**
 * Opens the requested effects. An effect runs where its actor's tags are: its queue has the name of the actor's pool
 * (E1).
 */
async function openEffects(
  writes: BatchWrites,
  drafts: Drafts,
  payloads: Payloads,
  requests: Map<string, string>,
): Promise<void> {
  // An effect opened and cancelled or ended inside one batch is never written.
  const over = new Set([...writes.effectsCancelled, ...writes.effectsEnded]);
  for (const asked of writes.effects) {
    const { id, request, cause, fairnessKey } = asked;
    if (over.has(id)) continue;
    const text = requests.get(id) ?? encodeRequest(writes.texts.of(request), asked);
    requests.set(id, text);
    const body = payloads.pack(cause.to, text);
    const partition = writes.drafts.get(cause.to)?.activation.partition;
    if (partition === undefined) throw new SvcError('internal', `${cause.to} is not of this batch`);
    drafts.in(partition).effectsOpened.push({
      id,
      queue: poolOf(partition),
      address: cause.to,
      mode: request.mode,
      ...fairnessPart(fairnessKey),
      body: typeof body === 'string' ? body : await body,
    });
  }
}

/** Changes in the number of client messages that each actor holds back. */
function heldBack({ messages, places }: Taken, handled: ReadonlyMap<Address, number>): NonNullable<Commit['held']> {
  const held = new Map<Address, number>();
  for (const { origin, to } of messages) if (origin === 'client') held.set(to, (held.get(to) ?? 0) + 1);
  for (const [address, count] of handled) held.set(address, (held.get(address) ?? 0) - count);
  const changed = [...held].filter(([, count]) => count !== 0);
  return changed.map(([address, count]) => {
    const partition = places.get(address);
    return { address, count, ...(partition === undefined ? {} : { partition }) };
  });
}

const isRare = (row: TurnRow): boolean => row.outcome === 'dead-lettered' || row.drained !== undefined;
