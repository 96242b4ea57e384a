import type { ActorStore } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';
import type { LogServer } from './log-server.ts';

export interface HandOverParts {
  readonly store: Pick<ActorStore, 'release'>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/** A batch that runs longer than this is left to the fence: its commit will be refused. */
const DRAINED_WITHIN_MS = 10_000;

/** Gives one partition to whoever wants it, after the batch that runs (design P2). */
export async function handOver(parts: HandOverParts, server: LogServer<Partition>, lose: () => void): Promise<void> {
  try {
    await drained(parts.clock, server);
    lose();
    await parts.store.release(server.lease);
  } catch (thrown) {
    parts.warn('a lease was not released and will run out', toSvcError(thrown));
  }
}

/** Resolves when what runs has committed, or nobody waits for it any more. */
export async function drained(clock: Clock, server: LogServer): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(DRAINED_WITHIN_MS, late.resolve);
  await Promise.race([server.drain(), late.promise]).finally(cancel);
}

/** Leaving goes on without a store that does not answer: leases run out. */
export async function patiently(
  { warn }: Pick<HandOverParts, 'warn'>,
  what: string,
  work: Promise<void>,
): Promise<void> {
  await work.catch((thrown: unknown) => warn(`${what} failed`, toSvcError(thrown)));
}
