import type { MailboxEntry } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { toSvcError } from '../errors.ts';
import { decodeMessageText } from '../turns/codec.ts';
import { isAside } from '../turns/payload.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { SlowActors } from './slow-actors.ts';

const PAGE = 256;
const LOOK_AGAIN_MS = 100;
const WARN_EVERY = 100;

/**
 * Takes up the messages that were postponed before a log was taken: their actors are slow as before, so that what is in the log
 * for them comes behind. It waits for a store that does not answer, unless it `isOver` with the log.
 */
export async function takePostponed(
  { store, clock, warn }: Pick<KernelParts, 'store' | 'clock' | 'warn'>,
  partitions: readonly Partition[],
  slow: SlowActors,
  isOver: () => boolean,
): Promise<void> {
  for (const partition of partitions) {
    let [after, failures, isLeft] = [0, 0, true];
    while (isLeft && !isOver()) {
      try {
        const page = (await store.sharedLogs?.postponed(partition, after, PAGE)) ?? [];
        slow.add(
          page.map((entry) => ({ entry: { ...entry, partition }, key: slow.keyOf(entry.body, receiverOf(entry)) })),
        );
        after = page.at(-1)?.seq ?? after;
        isLeft = page.length > 0;
      } catch (thrown) {
        if (failures % WARN_EVERY === 0) warn(`messages postponed in ${partition} wait`, toSvcError(thrown));
        failures += 1;
        await new Promise<void>((resume) => void clock.after(LOOK_AGAIN_MS, resume));
      }
    }
  }
}

/** Null when its body is stored aside, or cannot be read. */
function receiverOf({ body }: MailboxEntry): Address | null {
  if (isAside(body)) return null;
  try {
    return decodeMessageText(body).to;
  } catch {
    // Who handles it dead-letters it.
    return null;
  }
}
