import type { Lease, MailboxEntry } from '../actor-store.ts';
import { SvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import { Batch } from '../turns/batch.ts';
import { isReadable, loadResidents, setAside } from '../turns/loading.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { StoreClock } from './store-clock.ts';

/** How the entries of a batch are handled. */
export interface Handling {
  /** Most messages set aside that one retry drains. */
  readonly drainLimit: number;
  /** Every message counts as failed with this error: what its turn decided cannot be written. */
  readonly failAll?: string;
  /** Nothing is run, every entry is dead-lettered. */
  readonly bury?: SvcError;
}

/**
 * Runs a batch: each message has one turn. Null when the lease was lost meanwhile: what is cached may be a later holder's
 * in this very process.
 */
export async function runBatch(
  parts: KernelParts,
  holder: { readonly lease: Lease; readonly lost: boolean; readonly clock: Pick<StoreClock, 'turn'> },
  entries: readonly MailboxEntry[],
  messages: readonly (Message | SvcError)[],
  handling: Handling,
): Promise<Batch | null> {
  const { clock, retry } = parts;
  const { drainLimit, failAll } = handling;
  const now = holder.clock.turn(Math.max(0, ...entries.map((entry) => entry.at)));
  const residents = await loadResidents(parts, holder.lease.partition, messages.filter(isReadable));
  const bodies = await setAside(parts, entries, messages, residents, drainLimit);
  if (holder.lost) return null;
  const rules = { ...retry, drainLimit, failAll };
  const batch = new Batch(now, () => clock.monotonic() * 1_000, rules);
  for (const [index, entry] of entries.entries()) {
    const message = messages[index];
    if (message === undefined) continue;
    if (message instanceof SvcError) batch.bury(entry, null, message);
    else if (handling.bury !== undefined) batch.bury(entry, message, handling.bury);
    else {
      const resident = residents.get(message.to) ?? null;
      if (resident instanceof SvcError) batch.bury(entry, message, resident);
      else batch.deliver(entry, message, resident, bodies);
    }
  }
  return batch;
}
