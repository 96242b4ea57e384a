import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ActorStore, ClaimOutcome, Commit, EffectOpen, EffectRow, Lease } from '../../runtime/actor-store.ts';
import type { Partition } from '../../runtime/address.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { Delivery } from '../../runtime/message.ts';
import type { Sent, TestLedger } from './memory-effect-ledger.ts';

const LEASE_MS = 300_000;
const MOST_READ = 10_000;
const LOOK_EVERY_MS = 10;

/** The effect records of a real store: opened and cancelled by commits, results read from the partition's mailbox. */
export class StoreEffectLedger implements TestLedger {
  readonly sent: Sent[] = [];
  readonly dropped: Sent[] = [];
  readonly #store: ActorStore;
  readonly #lease: Lease<Partition>;
  #rows = new Map<string, EffectRow>();
  #seen: number;
  readonly #cursor: number;
  #closing = false;
  #quiet = false;
  readonly #following: Promise<void>;

  private constructor(store: ActorStore, lease: Lease<Partition>, cursor: number) {
    this.#store = store;
    this.#lease = lease;
    this.#cursor = cursor;
    this.#seen = cursor;
    this.#following = this.#follow();
  }

  static async over(store: ActorStore, partition: Partition): Promise<StoreEffectLedger> {
    const got = await store.acquire(partition, 'holder', randomUUID(), LEASE_MS);
    if (got.kind !== 'granted') throw new Error(`the partition is held by ${got.by}`);
    return new StoreEffectLedger(store, got.lease, got.cursor);
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#following;
    await this.#store.close();
  }

  now(): Promise<number> {
    return this.#store.now();
  }

  async open(_partition: Partition, open: EffectOpen): Promise<void> {
    await this.#commit({ effectsOpened: [open] });
  }

  async cancel(id: string, silently = false): Promise<void> {
    this.#quiet = silently;
    await this.#commit({ effectsCancelled: [id] });
  }

  row(id: string): EffectRow | undefined {
    return this.#rows.get(id);
  }

  openEffects(partition: Partition): Promise<EffectRow[]> {
    return this.#store.openEffects(partition);
  }

  claimEffect(...claim: Parameters<ActorStore['claimEffect']>): Promise<ClaimOutcome> {
    return this.#store.claimEffect(...claim);
  }

  keepEffect(partition: Partition, id: string, attempt: number, ttlMs: number): Promise<boolean> {
    return this.#store.keepEffect(partition, id, attempt, ttlMs);
  }

  progressEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    return this.#store.progressEffect(partition, id, attempt, delivery);
  }

  async settleEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    const kept = await this.#store.settleEffect(partition, id, attempt, delivery);
    if (!kept) this.dropped.push({ effectId: id, attempt, final: true, body: delivery.body });
    return kept;
  }

  reopenEffect(...call: Parameters<ActorStore['reopenEffect']>): Promise<boolean> {
    return this.#store.reopenEffect(...call);
  }

  onEffectCancelled(stop: (id: string) => void): Unsubscribe {
    return this.#store.onEffectCancelled((id) => {
      if (!this.#quiet) stop(id);
    });
  }

  async #commit(part: Partial<Commit>): Promise<void> {
    const nothing = { records: [], events: [], sends: [], timersSet: [], timersCleared: [], replies: [], handled: [] };
    const effects = { effectsOpened: [], effectsCancelled: [] };
    const at = { lease: this.#lease, after: this.#cursor, upTo: this.#cursor, journal: null };
    const outcome = await this.#store.commit({ ...at, ...nothing, ...effects, ...part }, 0);
    if (outcome.kind !== 'committed') throw new Error('the commit was fenced');
  }

  async #follow(): Promise<void> {
    while (!this.#closing) {
      // No turn handles these messages, so the cursor stays; the store refuses a reader ahead of it.
      const entries = (await this.#store.poll([{ lease: this.#lease, after: this.#cursor }], MOST_READ))[0] ?? [];
      for (const { seq, body } of entries) {
        if (seq <= this.#seen) continue;
        this.#seen = seq;
        const { effectId, attempt, outcome } = JSON.parse(body).payload;
        this.sent.push({ effectId, attempt, final: outcome !== undefined, body });
      }
      const rows = await this.#store.openEffects(this.#lease.log);
      this.#rows = new Map(rows.map((row) => [row.id, row]));
      await pause(LOOK_EVERY_MS);
    }
  }
}
