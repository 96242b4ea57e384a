import type { Commit, CommitReply, Delivery, EffectOpen, EventAppend, Lease, MailboxEntry } from '../actor-store.ts';
import { type Address, type Partition, poolOf } from '../address.ts';
import { encodeRequest } from '../effects/effect-envelope.ts';
import { fairnessPart } from '../effects/flow.ts';
import type { Locator } from '../locator.ts';
import type { Message } from '../message.ts';
import type { Batch } from './batch.ts';
import type { BatchWrites } from './batch-writes.ts';
import { encodeEvent, encodeMessage, encodeReply } from './codec.ts';
import { timerId } from './kernel-messages.ts';
import type { Payloads } from './payload.ts';
import { type ActorRecord, encodeRecord, type Stuck } from './record.ts';
import type { TurnRow } from './turn-row.ts';

/** A batch as the store takes it, with the new text of each changed actor for the cache. */
export interface PackedBatch {
  readonly commit: Commit;
  readonly texts: ReadonlyMap<string, string>;
  /** Characters of each of these before it was stored aside. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Encoded requests of the effects it opens, by id, none stored aside. */
  readonly requests: ReadonlyMap<string, string>;
}

const MOST_WAITING_CHARS = 16_384;

/** What a batch took. */
export interface Taken {
  /** Messages of the mailbox and results, those that can be read. */
  readonly messages: readonly Message[];
  /** Results handled beside the mailbox. */
  readonly results: readonly MailboxEntry[];
}

/** Encodes a batch; large parts go to Blobs first, so the commit itself stays small (design K3, K7). */
export async function packCommit(
  { writes, rows }: Batch,
  lease: Lease,
  cursor: Pick<Commit, 'after' | 'upTo' | 'upToAt' | 'beside' | 'settles' | 'results'>,
  run: Taken,
  /** Requests that are encoded already, by effect id. */
  encoded: ReadonlyMap<string, string>,
  kernel: { readonly payloads: Payloads; readonly locator: Locator; readonly ledger: boolean },
): Promise<PackedBatch> {
  const { payloads, locator } = kernel;
  const deliver = async (message: Message): Promise<Delivery> => {
    const body = encodeMessage(payloads, message);
    return { id: message.id, to: message.to, body: typeof body === 'string' ? body : await body };
  };
  const texts = new Map<string, string>();
  const sizes = new Map<string, number>();
  const records: { address: Commit['records'][number]['address']; record: string }[] = [];
  const events: EventAppend[] = [];
  for (const work of writes.works.values()) {
    const { address, definition } = work.resident;
    if (work.dirty) {
      if (work.record.stuck !== null) work.record = await slim(work.record, work.record.stuck, address, payloads);
      // Every commit's record has bytes of its own, so that they can be deleted when the next one replaced it.
      const owner = `${address}#${lease.grant}#${cursor.upTo}.${cursor.beside ?? 0}`;
      const encoded = encodeRecord(definition.version, work.record);
      sizes.set(address, encoded.length);
      const packed = payloads.packOwned(address, encoded, owner);
      const record = typeof packed === 'string' ? packed : await packed;
      texts.set(address, record);
      records.push({ address, record });
    }
    if (work.events.length > 0) {
      const data: string[] = [];
      for (const event of work.events) {
        const text = encodeEvent(payloads, address, { n: event.name, at: event.at, p: event.payload });
        data.push(typeof text === 'string' ? text : await text);
      }
      events.push({ address, first: work.firstEvent, data });
    }
  }
  const sends: { partition: Partition; delivery: Delivery }[] = [];
  for (const message of writes.sends) {
    const partition = locator.known(message.to) ?? (await locator.locate(message.to));
    const delivery = await deliver(message);
    sends.push({ partition, delivery: writes.unhurried.has(message.id) ? { ...delivery, unhurried: true } : delivery });
  }
  const replies: CommitReply[] = [];
  for (const { message, reply } of writes.replies) {
    if (message.session === undefined) continue;
    const body = encodeReply(payloads, message.to, reply);
    replies.push({
      session: message.session,
      messageId: message.id,
      body: typeof body === 'string' ? body : await body,
      ...(message.fresh === true ? { fresh: true } : {}),
    });
  }
  const timersSet: Commit['timersSet'][number][] = [];
  const requests = new Map(encoded);
  const pending = pendingTimers(writes);
  for (const timer of writes.timersSet) {
    // Set and then cleared or replaced inside one batch: only the last word counts.
    if (pending.get(timer.id) !== timer.message.id) continue;
    timersSet.push({ id: timer.id, afterMs: timer.afterMs, delivery: await deliver(timer.message) });
  }
  return {
    texts,
    sizes,
    requests,
    commit: {
      lease,
      ...cursor,
      records,
      // Without the ledger a row only says that there is something to project, unless messages were put aside.
      journal: journalText(lease.epoch, kernel.ledger || rows.some(isRare) ? rows : [], run.results),
      events,
      sends,
      timersSet,
      timersCleared: writes.timersCleared.filter((id) => !pending.has(id)),
      effectsOpened: await openEffects(writes, poolOf(lease.partition), payloads, requests),
      effectsCancelled: writes.effectsCancelled,
      replies,
      handled: [...writes.handled].map(([address, count]) => ({ address, count })),
      held: heldBack(run.messages, writes.handled),
    },
  };
}

/** Bodies are JSON already and go in as they are; one that is stored aside is its reference as a string. */
function journalText(epoch: number, turns: readonly TurnRow[], results: readonly MailboxEntry[]): string {
  const row = JSON.stringify({ epoch, turns });
  if (results.length === 0) return row;
  const lines = results.map(({ at, body }) => `[${at},${body.startsWith('{') ? body : JSON.stringify(body)}]`);
  return `${row.slice(0, -1)},"results":[${lines.join(',')}]}`;
}

/** Messages that wait behind a failing one are many: only the short ones are kept in its actor's record. */
async function slim(record: ActorRecord, stuck: Stuck, actor: Address, payloads: Payloads): Promise<ActorRecord> {
  const behind = await Promise.all(
    stuck.behind.map((body) => (body.length > MOST_WAITING_CHARS ? payloads.setAside(actor, body) : body)),
  );
  return { ...record, stuck: { ...stuck, behind } };
}

/** Timers pending after the batch: timer id -> id of the message that will come. */
function pendingTimers(writes: BatchWrites): Map<string, string> {
  const pending = new Map<string, string>();
  for (const { resident, record } of writes.works.values()) {
    for (const [name, messageId] of Object.entries(record.timers))
      pending.set(timerId(resident.address, name), messageId);
  }
  return pending;
}

/** An effect runs where its actor's tags are: its queue is named as its pool (design E1). */
async function openEffects(
  writes: BatchWrites,
  queue: string,
  payloads: Payloads,
  requests: Map<string, string>,
): Promise<EffectOpen[]> {
  const opened: EffectOpen[] = [];
  // Opened and cancelled or ended inside one batch: nobody saw it, so it never existed.
  const over = new Set([...writes.effectsCancelled, ...writes.effectsEnded]);
  for (const asked of writes.effects) {
    const { id, request, cause, fairnessKey } = asked;
    if (over.has(id)) continue;
    const text = requests.get(id) ?? encodeRequest(asked);
    requests.set(id, text);
    const body = payloads.pack(cause.to, text);
    opened.push({
      id,
      queue,
      address: cause.to,
      mode: request.mode,
      ...fairnessPart(fairnessKey),
      body: typeof body === 'string' ? body : await body,
    });
  }
  return opened;
}

/** By how many the client messages that an actor holds back became more, or fewer. */
function heldBack(taken: readonly Message[], handled: ReadonlyMap<Address, number>): Commit['handled'] {
  const held = new Map<Address, number>();
  for (const { origin, to } of taken) if (origin === 'client') held.set(to, (held.get(to) ?? 0) + 1);
  for (const [address, count] of handled) held.set(address, (held.get(address) ?? 0) - count);
  return [...held].filter(([, count]) => count !== 0).map(([address, count]) => ({ address, count }));
}

const isRare = (row: TurnRow): boolean => row.outcome === 'dead-lettered' || row.drained !== undefined;
