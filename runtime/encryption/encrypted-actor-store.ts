import type {
  ActorStore,
  AppendOutcome,
  ClaimOutcome,
  Commit,
  CommitOutcome,
  EffectError,
  EffectRow,
  EventAppend,
  PartitionChanges,
} from '../actor-store.ts';
import { type Address, tenantOf } from '../address.ts';
import { systemClock } from '../clock.ts';
import { errorLine } from '../effect-ledger.ts';
import { SvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import { WaitBudget } from '../kit/waits.ts';
import type { SharedLogs } from '../leases.ts';
import type { Delivery, MailboxEntry } from '../message.ts';
import { isEncrypted, type TextCipher } from './text-cipher.ts';

/**
 * Purpose of a text, which its encryption authenticates. Messages move between mailboxes, timers and effects, so they share
 * one.
 */
const MESSAGE = 'message';
const REPLY = 'reply';
const JOURNAL = 'journal';
/** How long entries wait for keys that are not in memory. */
const KEY_PATIENCE_MS = 50;
const recordUse = (address: Address): string => `record ${address}`;
const eventUse = (address: Address, seq: number): string => `event ${address} ${seq}`;
const effectUse = (id: string): string => `effect ${id}`;
const effectErrorUse = (id: string): string => `effect error ${id}`;

/**
 * An actor store whose bodies, records, events, effects and journal are encrypted before they reach the adapter. Addresses,
 * ids, positions and times stay in plain text: the adapter needs them. Where an adapter is not given the tenant of a text
 * (answers, journal rows, postponed messages), the key of the system's tenant encrypts it.
 */
export class EncryptedActorStore implements ActorStore {
  readonly #inner: ActorStore;
  readonly #cipher: TextCipher;
  /** The encrypted form of each commit: the store recognises a repeated one by its identity. */
  readonly #commits = new WeakMap<Commit, Commit>();
  readonly sharedLogs: SharedLogs | undefined;
  readonly isInProcess: boolean;
  /** Ends when the last append that waits for a key was sent. */
  #turns: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(inner: ActorStore, cipher: TextCipher) {
    this.#inner = inner;
    this.#cipher = cipher;
    this.isInProcess = inner.isInProcess === true;
    this.sharedLogs = inner.sharedLogs && this.#sharedLogs(inner.sharedLogs);
  }

  open = () => this.#inner.open();
  close = () => this.#inner.close();
  now: ActorStore['now'] = (log) => this.#inner.now(log);
  definePool: ActorStore['definePool'] = (pool, partitions) => this.#inner.definePool(pool, partitions);
  facts: ActorStore['facts'] = () => this.#inner.facts();
  keepFact: ActorStore['keepFact'] = (name, value) => this.#inner.keepFact(name, value);
  refuseOlderPrograms: ActorStore['refuseOlderPrograms'] = () => this.#inner.refuseOlderPrograms();
  depth: ActorStore['depth'] = (partition, address) => this.#inner.depth(partition, address);
  backlog: ActorStore['backlog'] = (log) => this.#inner.backlog(log);
  acquire: ActorStore['acquire'] = (...call) => this.#inner.acquire(...call);
  renew: ActorStore['renew'] = (leases, ttlMs) => this.#inner.renew(leases, ttlMs);
  renewedAt: ActorStore['renewedAt'] = (lease) => this.#inner.renewedAt(lease);
  cameBackAt: ActorStore['cameBackAt'] = (lease) => this.#inner.cameBackAt(lease);
  freeze: ActorStore['freeze'] = (ms) => this.#inner.freeze(ms);
  vouch: ActorStore['vouch'] = (lease) => this.#inner.vouch(lease);
  release: ActorStore['release'] = (lease) => this.#inner.release(lease);
  onWake: ActorStore['onWake'] = (node, wake) => this.#inner.onWake(node, wake);
  onReturn: NonNullable<ActorStore['onReturn']> = (back) => this.#inner.onReturn?.(back) ?? (() => {});
  announce: ActorStore['announce'] = (...call) => this.#inner.announce(...call);
  members: ActorStore['members'] = () => this.#inner.members();
  readMembers: ActorStore['readMembers'] = (node, known) => this.#inner.readMembers(node, known);
  retire: ActorStore['retire'] = (node, incarnation) => this.#inner.retire(node, incarnation);
  isKnown: ActorStore['isKnown'] = (node, incarnation) => this.#inner.isKnown(node, incarnation);
  pools: ActorStore['pools'] = () => this.#inner.pools();
  signal: ActorStore['signal'] = (...call) => this.#inner.signal(...call);
  onSignal: ActorStore['onSignal'] = (node, receive) => this.#inner.onSignal(node, receive);
  recorded: ActorStore['recorded'] = (partition) => this.#inner.recorded(partition);
  actorCount: ActorStore['actorCount'] = (partition) => this.#inner.actorCount(partition);
  fireTimers: ActorStore['fireTimers'] = (leases) => this.#inner.fireTimers(leases);
  timersDue: ActorStore['timersDue'] = (partition, ids) => this.#inner.timersDue(partition, ids);
  flushOutbox: ActorStore['flushOutbox'] = (lease) => this.#inner.flushOutbox(lease);
  forget: ActorStore['forget'] = (...call) => this.#inner.forget(...call);
  keepEffect: ActorStore['keepEffect'] = (...call) => this.#inner.keepEffect(...call);
  onEffectCancelled: ActorStore['onEffectCancelled'] = (stop) => this.#inner.onEffectCancelled(stop);
  onEvents: ActorStore['onEvents'] = (address, wake) =>
    this.#inner.onEvents(address, (news) => wake(news && this.#plainNews(news)));
  trimJournal: ActorStore['trimJournal'] = (lease, upTo) => this.#inner.trimJournal(lease, upTo);
  place: ActorStore['place'] = (...call) => this.#inner.place(...call);
  locate: ActorStore['locate'] = (home, address) => this.#inner.locate(home, address);
  unplace: ActorStore['unplace'] = (...call) => this.#inner.unplace(...call);
  placed: ActorStore['placed'] = (home, page) => this.#inner.placed(home, page);

  append: ActorStore['append'] = (partition, deliveries, bound, ageMs) => {
    const send = async (): Promise<AppendOutcome[]> => {
      const encrypted = deliveries.map((one) => this.#delivery(one));
      return this.#plainOutcomes(await this.#inner.append(partition, encrypted, bound, ageMs));
    };
    const keys = this.#cipher.toWrite(deliveries.map(({ to }) => tenantOf(to)));
    return keys === null && this.#waiting === 0 ? send() : this.#inOrder(keys, send);
  };

  recallReply: ActorStore['recallReply'] = async (partition, messageId, at) => {
    const [reply = null] = await this.#readAll([await this.#inner.recallReply(partition, messageId, at)], () => REPLY);
    return reply;
  };

  onReply: ActorStore['onReply'] = (session, receive, missed) => {
    const read = (messageId: string, body: string): void => {
      const wait = this.#cipher.toRead([body]);
      if (wait === null) receive(messageId, this.#cipher.decrypt(body, REPLY));
      else {
        // An answer that cannot be decrypted is dropped here; `recallReply` then reports why.
        const lost = (): void => {};
        wait.then(() => receive(messageId, this.#cipher.decrypt(body, REPLY))).catch(lost);
      }
    };
    return this.#inner.onReply(session, read, missed);
  };

  poll: ActorStore['poll'] = async (asks, limit) => {
    const polled = await this.#inner.poll(asks, limit);
    await this.#keysOf(polled.flatMap((entries) => entries ?? []));
    return polled.map((entries) => entries && this.#plainEntries(entries));
  };

  unlock = async (entry: MailboxEntry): Promise<MailboxEntry> => {
    const { locked: _why, ...stored } = entry;
    await this.#cipher.toRead([stored.body]);
    return { ...stored, body: this.#plainBody(stored.body) };
  };

  unread: ActorStore['unread'] = async (partition, address, after, limit) => {
    const { entries, next } = await this.#inner.unread(partition, address, after, limit);
    return { entries: await this.#readEntries(entries), next };
  };

  load: ActorStore['load'] = async (partition, addresses) => {
    const stored = await this.#inner.load(partition, addresses);
    await this.#cipher.toRead(stored);
    try {
      return await this.#readAll(stored, (index) => recordUse(addressAt(addresses, index)));
    } catch (cause) {
      throw new SvcError('internal', 'a stored record is damaged', { store: 'actors', cause });
    }
  };

  commit: ActorStore['commit'] = async (commit, readAhead) => {
    const outcome = await this.#inner.commit(await this.#encrypted(commit), readAhead);
    if (outcome.kind !== 'committed') return outcome;
    return { ...outcome, next: await this.#readEntries(outcome.next) } satisfies CommitOutcome;
  };

  readEvents: ActorStore['readEvents'] = async (partition, address, after, limit) => {
    const events = await this.#inner.readEvents(partition, address, after, limit);
    await this.#cipher.toRead(events.map(({ data }) => data));
    return events.map(({ seq, data }) => ({ seq, data: this.#cipher.decrypt(data, eventUse(address, seq)) }));
  };

  readJournal: ActorStore['readJournal'] = async (log, after, limit) => {
    const rows = await this.#inner.readJournal(log, after, limit);
    await this.#cipher.toRead(rows.map(({ row }) => row));
    await this.#cipher.toReadWhatIsKept(rows.flatMap(({ entries }) => entries.map(({ body }) => body)));
    return rows.map((one) => ({
      ...one,
      row: this.#cipher.decrypt(one.row, JOURNAL),
      entries: this.#plainEntries(one.entries),
    }));
  };

  openEffects: ActorStore['openEffects'] = async (partition) =>
    this.#effectRows(await this.#inner.openEffects(partition));

  effectRows: ActorStore['effectRows'] = async (partition, ids) =>
    this.#effectRows(await this.#inner.effectRows(partition, ids));

  effectBodies: ActorStore['effectBodies'] = async (partition, ids) =>
    this.#readAll(await this.#inner.effectBodies(partition, ids), (index) => effectUse(ids[index] ?? ''));

  claimEffect: ActorStore['claimEffect'] = async (partition, id, ...call) => {
    const outcome = await this.#inner.claimEffect(partition, id, ...call);
    if (outcome.kind !== 'claimed' && outcome.kind !== 'in_doubt') return outcome;
    await this.#cipher.toRead([outcome.body]);
    return { ...outcome, body: this.#cipher.decrypt(outcome.body, effectUse(id)) } satisfies ClaimOutcome;
  };

  progressEffect: ActorStore['progressEffect'] = async (partition, id, attempt, delivery) =>
    this.#inner.progressEffect(partition, id, attempt, await this.#encryptedDelivery(delivery));

  settleEffect: ActorStore['settleEffect'] = async (partition, id, attempt, delivery) =>
    this.#inner.settleEffect(partition, id, attempt, await this.#encryptedDelivery(delivery));

  reopenEffect: ActorStore['reopenEffect'] = async (partition, id, attempt, delayMs, runner, error) =>
    this.#inner.reopenEffect(partition, id, attempt, delayMs, runner, await this.#encryptedError(id, error));

  #sharedLogs(logs: SharedLogs): SharedLogs {
    return {
      mayBeMade: () => logs.mayBeMade(),
      tagOf: (partition) => logs.tagOf(partition),
      make: (...call) => logs.make(...call),
      join: (...call) => logs.join(...call),
      close: (lease) => logs.close(lease),
      adopt: (...call) => logs.adopt(...call),
      remove: (lease) => logs.remove(lease),
      list: () => logs.list(),
      postponed: async (partition, after, limit) => this.#readEntries(await logs.postponed(partition, after, limit)),
      // The store compares records as they are stored.
      forgetEnded: async (partition, records) => {
        const addresses = [...records.keys()];
        const stored = await this.#inner.load(partition, addresses);
        const plain = await this.#readAll(stored, (index) => recordUse(addressAt(addresses, index)));
        const same = new Map<Address, string>();
        for (const [index, address] of addresses.entries()) {
          const text = stored[index];
          if (text != null && plain[index] === records.get(address)) same.set(address, text);
        }
        return logs.forgetEnded(partition, same);
      },
    };
  }

  /** Events that a notice carried. Undefined when a key must be fetched first: they are then read. */
  #plainNews({ address, first, data }: EventAppend): EventAppend | undefined {
    if (this.#cipher.toRead(data) !== null) return undefined;
    return {
      address,
      first,
      data: data.map((one, index) => this.#cipher.decrypt(one, eventUse(address, first + index))),
    };
  }

  /** Appends reach the adapter in the order of the calls, also when one has to wait for a key. */
  async #inOrder<Result>(keys: Promise<unknown> | null, send: () => Promise<Result>): Promise<Result> {
    const turn = Promise.all([this.#turns, keys]);
    // A failed call does not stop those behind it.
    const over = (): void => {
      this.#waiting -= 1;
    };
    this.#waiting += 1;
    this.#turns = turn.then(over, over);
    await turn;
    return send();
  }

  async #plainOutcomes(outcomes: AppendOutcome[]): Promise<AppendOutcome[]> {
    const replies = outcomes.map((one) => (one.kind === 'duplicate' ? one.reply : null));
    if (replies.every((reply) => reply === null)) return outcomes;
    await this.#cipher.toRead(replies);
    return outcomes.map((one): AppendOutcome => {
      if (one.kind !== 'duplicate' || one.reply === null) return one;
      return { ...one, reply: this.#cipher.decrypt(one.reply, REPLY) };
    });
  }

  #delivery(delivery: Delivery): Delivery {
    const { to, body } = delivery;
    const encrypted = this.#cipher.encrypt(tenantOf(to), body, MESSAGE);
    return encrypted === body ? delivery : { ...delivery, body: encrypted };
  }

  async #encryptedDelivery(delivery: Delivery): Promise<Delivery> {
    await this.#cipher.toWrite([tenantOf(delivery.to)]);
    return this.#delivery(delivery);
  }

  async #encryptedError(id: string, error: EffectError | undefined): Promise<EffectError | undefined> {
    if (error === undefined || !this.#cipher.encryptsAny) return error;
    await this.#cipher.toWrite([SYSTEM_TENANT]);
    const message = errorLine(error).slice(error.code.length + 1);
    return { code: error.code, message: this.#cipher.encryptShared(message, effectErrorUse(id)) };
  }

  async #effectRows<Row extends EffectRow | null>(rows: readonly Row[]): Promise<Row[]> {
    await this.#cipher.toRead(rows.map((row) => row?.lastError?.message));
    return rows.map((row) => {
      if (row?.lastError === undefined) return row;
      const { code, message } = row.lastError;
      return { ...row, lastError: { code, message: this.#cipher.decrypt(message, effectErrorUse(row.id)) } };
    });
  }

  async #readAll(texts: readonly (string | null)[], use: (index: number) => string): Promise<(string | null)[]> {
    await this.#cipher.toRead(texts);
    return texts.map((text, index) => (text === null ? null : this.#cipher.decrypt(text, use(index))));
  }

  async #readEntries(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    await this.#keysOf(entries);
    return this.#plainEntries(entries);
  }

  /** Fetches the keys of entries, as far as they can be had soon: one tenant without a key must not stop the others. */
  async #keysOf(entries: readonly MailboxEntry[]): Promise<void> {
    const locked = entries.filter(({ body }) => this.#cipher.lockOf(body) !== null);
    if (locked.length === 0) return;
    const patience = new WaitBudget(systemClock, KEY_PATIENCE_MS);
    await patience.for(locked.map(async ({ body }) => this.#cipher.toRead([body])));
    patience.end();
  }

  #plainEntries(entries: readonly MailboxEntry[]): readonly MailboxEntry[] {
    return entries.map((entry) => {
      const locked = this.#cipher.lockOf(entry.body);
      if (locked !== null) return { ...entry, locked };
      const body = this.#plainBody(entry.body);
      return body === entry.body ? entry : { ...entry, body };
    });
  }

  /** A damaged message stays as it is stored. Its reader cannot decode it and dead-letters it, without those behind it. */
  #plainBody(body: string): string {
    try {
      return this.#cipher.decrypt(body, MESSAGE);
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'internal') return body;
      throw thrown;
    }
  }

  async #encrypted(commit: Commit): Promise<Commit> {
    if (!this.#cipher.encryptsAny) return commit;
    const known = this.#commits.get(commit);
    if (known !== undefined) return known;
    const { partitions, journal, replies } = commit;
    await this.#cipher.toWrite([
      SYSTEM_TENANT,
      ...tenantsIn(commit),
      ...(partitions ?? []).flatMap((one) => [...tenantsIn(one)]),
    ]);
    const encrypted: Commit = {
      ...commit,
      ...this.#changes(commit),
      ...(partitions === undefined ? {} : { partitions: partitions.map((one) => ({ ...one, ...this.#changes(one) })) }),
      journal: journal === null ? null : this.#cipher.encryptShared(journal, JOURNAL),
      replies: replies.map((one) => ({ ...one, body: this.#cipher.encryptShared(one.body, REPLY) })),
    };
    this.#commits.set(commit, encrypted);
    return encrypted;
  }

  #changes(
    changes: PartitionChanges,
  ): Pick<PartitionChanges, 'records' | 'events' | 'sends' | 'timersSet' | 'effectsOpened' | 'postponed'> {
    const { records, events, sends, timersSet, effectsOpened, postponed } = changes;
    const text = (address: Address, plain: string, use: string): string =>
      this.#cipher.encrypt(tenantOf(address), plain, use);
    return {
      records: records.map(({ address, record }) => ({
        address,
        record: record === null ? null : text(address, record, recordUse(address)),
      })),
      events: events.map(({ address, first, data }) => ({
        address,
        first,
        data: data.map((one, index) => text(address, one, eventUse(address, first + index))),
      })),
      sends: sends.map((one) => ({ ...one, delivery: this.#delivery(one.delivery) })),
      timersSet: timersSet.map((one) => ({ ...one, delivery: this.#delivery(one.delivery) })),
      effectsOpened: effectsOpened.map((one) => ({ ...one, body: text(one.address, one.body, effectUse(one.id)) })),
      // A locked message is encrypted already.
      postponed: postponed?.map((one) => ({
        ...one,
        body: isEncrypted(one.body) ? one.body : this.#cipher.encryptShared(one.body, MESSAGE),
      })),
    };
  }
}

/** Tenants whose keys the changes of a partition need. */
function* tenantsIn({ records, events, sends, timersSet, effectsOpened }: PartitionChanges): Generator<string> {
  for (const { address } of records) yield tenantOf(address);
  for (const { address } of events) yield tenantOf(address);
  for (const { delivery } of sends) yield tenantOf(delivery.to);
  for (const { delivery } of timersSet) yield tenantOf(delivery.to);
  for (const { address } of effectsOpened) yield tenantOf(address);
}

function addressAt(addresses: readonly Address[], index: number): Address {
  const address = addresses[index];
  if (address === undefined) throw new RangeError(`no address at ${index}`);
  return address;
}
