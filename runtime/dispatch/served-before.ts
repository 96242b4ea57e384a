import type { ActorStore, Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import type { Progress } from './progress.ts';

interface ServedBeforeParts {
  readonly store: Pick<ActorStore, 'cameBackAt'>;
  readonly warn: (message: string, error: unknown) => void;
}

/** A partition that this node served, and how far it had come. */
interface Before {
  readonly lease: Lease<Partition>;
  readonly progress: Progress;
  /** The store was asked and had lost nothing until then. */
  isAsked: boolean;
}

/**
 * Remembers how far this node had served partitions. A store that lost its last writes (after a failover to a replica
 * that was behind, or a restored backup) has them at an earlier position, and only the node that served them knows
 * that. The class reports it once for each partition: when the node serves the partition again, or when another node
 * took it meanwhile.
 */
export class ServedBefore {
  readonly #parts: ServedBeforeParts;
  readonly #before = new Map<Partition, Before>();
  /** Partitions that were compared when this node took them. Documents cannot say more about them. */
  readonly #compared = new Set<Partition>();

  constructor(parts: ServedBeforeParts) {
    this.#parts = parts;
  }

  ended(lease: Lease<Partition>, progress: Progress): void {
    this.#before.set(lease.log, { lease, progress, isAsked: false });
  }

  /** This node serves a partition again, from this position on. */
  taken(partition: Partition, position: number): void {
    const before = this.#before.get(partition);
    if (before === undefined) {
      this.#compared.delete(partition);
      return;
    }
    this.#compared.add(partition);
    this.#compare(before, position);
  }

  /**
   * Reports how many actors documents have in a later state, for partitions that this node did not serve before: their
   * last holder may have ended. Documents lag, so the number is a lower bound; a last holder that is alive reports the
   * exact one.
   */
  compared(cursor: number, ahead: ReadonlyMap<Partition, number>): void {
    for (const [partition, actors] of ahead) {
      if (this.#compared.has(partition)) continue;
      // A partition's own log and one that it shared may both be compared.
      this.#compared.add(partition);
      this.#warn(
        `documents are ahead of ${partition}, the store is at ${cursor}; at least ${counted(actors, 'actor')} went back`,
      );
    }
  }

  /** Compares partitions that were lost or handed over with the store. Call it again when it rejects. */
  async look(): Promise<void> {
    const asked = [...this.#before.values()].filter(({ isAsked }) => !isAsked);
    await Promise.all(
      asked.map(async (before) => {
        const position = await this.#parts.store.cameBackAt(before.lease);
        before.isAsked = true;
        if (position !== null && this.#before.get(before.lease.log) === before) this.#compare(before, position);
      }),
    );
  }

  #compare({ lease: { log: partition }, progress }: Before, position: number): void {
    this.#before.delete(partition);
    if (position >= progress.position) return;
    const actors = progress.actorsBehind(position, partition);
    this.#warn(
      `${partition} was at entry ${progress.position}, the store is at ${position}; ${counted(actors, 'actor')} went back`,
    );
  }

  #warn(message: string): void {
    this.#parts.warn('the store lost acknowledged writes', new SvcError('lease_lost', message));
  }
}
