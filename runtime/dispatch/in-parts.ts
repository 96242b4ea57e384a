import type { MailboxEntry } from '../actor-store.ts';
import { type SvcError, toSvcError } from '../errors.ts';
import type { Handling } from './run-batch.ts';

type Entries = readonly MailboxEntry[];

export interface HandledInParts {
  /** Runs and commits entries; answers those read ahead. */
  readonly handle: (entries: Entries, handling: Handling) => Promise<Entries>;
  readonly isLost: () => boolean;
  /** Told about an entry that cannot be committed. */
  readonly unfit: (entry: MailboxEntry, error: SvcError) => void;
}

export const USUAL: Handling = { drainLimit: 100 };

/**
 * A batch that cannot be written is halved until the entry that makes it so stands alone. That one is a failing
 * message like any other (design K6); it never stops those behind it.
 */
export async function handleInParts(entries: Entries, how: HandledInParts): Promise<Entries> {
  try {
    return await how.handle(entries, USUAL);
  } catch (thrown) {
    if (toSvcError(thrown).code === 'unavailable' || how.isLost()) throw thrown;
    const [first, ...others] = entries;
    if (others.length > 0) return handleInParts(entries.slice(0, Math.ceil(entries.length / 2)), how);
    return first === undefined ? [] : handleAlone(first, thrown, how);
  }
}

async function handleAlone(entry: MailboxEntry, thrown: unknown, { handle, unfit }: HandledInParts): Promise<Entries> {
  const error = toSvcError(thrown);
  unfit(entry, error);
  const failAll = thrown instanceof Error ? thrown.message : error.message;
  const careful: readonly Handling[] = [
    // A retry that drains many messages: find the one.
    { drainLimit: 1 },
    { drainLimit: 1, failAll },
    { drainLimit: 1, bury: error },
  ];
  for (const [step, handling] of careful.entries()) {
    try {
      return await handle([entry], handling);
    } catch (again) {
      if (toSvcError(again).code === 'unavailable' || step === careful.length - 1) throw again;
    }
  }
  return [];
}
