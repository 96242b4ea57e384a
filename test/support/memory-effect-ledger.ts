import type { ClaimOutcome, EffectError, EffectLedger, EffectOpen, EffectRow } from '../../runtime/actor-store.ts';
import type { Partition } from '../../runtime/address.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { Delivery } from '../../runtime/message.ts';

interface Entry {
  readonly open: EffectOpen;
  readonly partition: Partition;
  status: 'open' | 'started';
  attempt: number;
  until: number;
  runner: string;
  claim?: string;
  lastError?: EffectError;
}

/** What an effect sent: the decoded message. */
export interface Sent {
  readonly effectId: string;
  readonly attempt: number;
  readonly final: boolean;
  readonly body: string;
}

/** The effect records a test works with: in memory, or those of a real store. */
export interface TestLedger extends Omit<EffectLedger, 'effectBodies' | 'effectRows'> {
  readonly sent: readonly Sent[];
  /** Late results, of attempts that were no longer current. */
  readonly dropped: readonly Sent[];
  now(): Promise<number>;
  /** Records an effect, as a commit does. */
  open(partition: Partition, open: EffectOpen): Promise<void>;
  /** As a commit with `effectsCancelled` does; `silently` loses the callback. */
  cancel(id: string, silently?: boolean): Promise<void>;
  /** The record as last seen. */
  row(id: string): EffectRow | undefined;
  close(): Promise<void>;
}

/** The effect records of the store's port in memory, for tests of queues and runners without a database. */
export class MemoryEffectLedger implements TestLedger {
  readonly sent: Sent[] = [];
  readonly dropped: Sent[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #seen = new Set<string>();
  readonly #stops = new Set<(id: string) => void>();

  async now(): Promise<number> {
    return Date.now();
  }

  async open(partition: Partition, open: EffectOpen): Promise<void> {
    this.#entries.set(open.id, { open, partition, status: 'open', attempt: 0, until: 0, runner: '' });
  }

  async cancel(id: string, silently = false): Promise<void> {
    this.#entries.delete(id);
    if (!silently) for (const stop of this.#stops) stop(id);
  }

  async close(): Promise<void> {}

  row(id: string): EffectRow | undefined {
    const entry = this.#entries.get(id);
    return entry && rowOf(entry);
  }

  async openEffects(partition: Partition): Promise<EffectRow[]> {
    return [...this.#entries.values()].filter((entry) => entry.partition === partition).map(rowOf);
  }

  async claimEffect(
    _partition: Partition,
    id: string,
    runner: string,
    ttlMs: number,
    over?: string,
    claim = '',
  ): Promise<ClaimOutcome> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return { kind: 'gone' };
    const remainingMs = entry.until - Date.now();
    const once = entry.open.mode === 'once';
    if (claim !== '' && claim === entry.claim) {
      if (entry.status !== 'started') return { kind: 'busy', by: '', retryAfterMs: 10, once };
      return { kind: 'claimed', attempt: entry.attempt, body: entry.open.body };
    }
    const dead = entry.status === 'started' && (entry.runner === over || isEarlierLife(entry.runner, runner));
    if (remainingMs > 0 && !dead) {
      return { kind: 'busy', by: entry.runner, retryAfterMs: remainingMs, once };
    }
    if (entry.status === 'started' && once) {
      return { kind: 'in_doubt', attempt: entry.attempt, body: entry.open.body };
    }
    Object.assign(entry, { status: 'started', attempt: entry.attempt + 1, until: Date.now() + ttlMs, runner, claim });
    return { kind: 'claimed', attempt: entry.attempt, body: entry.open.body };
  }

  async keepEffect(_partition: Partition, id: string, attempt: number, ttlMs: number): Promise<boolean> {
    const entry = this.#current(id, attempt);
    if (entry === undefined) return false;
    entry.until = Date.now() + ttlMs;
    return true;
  }

  async progressEffect(_partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    return this.#deliver(id, attempt, delivery, false);
  }

  async settleEffect(_partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    return this.#deliver(id, attempt, delivery, true);
  }

  async reopenEffect(
    _partition: Partition,
    id: string,
    attempt: number,
    delayMs: number,
    runner?: string,
    error?: EffectError,
  ): Promise<boolean> {
    const entry = this.#current(id, attempt);
    if (entry === undefined || (runner !== undefined && entry.runner !== runner)) return false;
    Object.assign(entry, { status: 'open', until: Date.now() + delayMs, runner: '' });
    if (error !== undefined) entry.lastError = error;
    return true;
  }

  onEffectCancelled(stop: (id: string) => void): Unsubscribe {
    this.#stops.add(stop);
    return () => this.#stops.delete(stop);
  }

  #current(id: string, attempt: number): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry?.status === 'started' && entry.attempt === attempt ? entry : undefined;
  }

  #deliver(effectId: string, attempt: number, { id, body }: Delivery, final: boolean): boolean {
    const sent = { effectId, attempt, final, body };
    if (this.#current(effectId, attempt) === undefined) {
      this.dropped.push(sent);
      return false;
    }
    if (final) this.#entries.delete(effectId);
    if (!this.#seen.has(id)) this.sent.push(sent);
    this.#seen.add(id);
    return true;
  }
}

const rowOf = ({ open, status, attempt, runner, until, lastError }: Entry): EffectRow => ({
  ...{ id: open.id, queue: open.queue, address: open.address, mode: open.mode },
  ...(open.fairnessKey === undefined ? {} : { fairnessKey: open.fairnessKey }),
  ...{ status, attempt, runner, until },
  ...(lastError === undefined ? {} : { lastError }),
});

function isEarlierLife(holder: string, runner: string): boolean {
  return holder !== runner && holder.split('/')[0] === runner.split('/')[0];
}
