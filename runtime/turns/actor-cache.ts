import type { Address, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Activation } from './actor-draft.ts';

interface CacheBounds {
  readonly actors: number;
  /**
   * Most characters of encoded states; decoded they take two to three times that. The actor used last stays whatever
   * its size.
   */
  readonly bytes: number;
  readonly idleMs: number;
}

interface Held {
  readonly activation: Activation;
  /** Size as it was counted: the size of an activation changes with its commits. */
  readonly size: number;
  usedAt: number;
}

/**
 * Actors in memory. The least recently used leave first, idle ones after `idleMs` (K8): an idle actor costs no heap,
 * and many large ones stay within a limit. Losing an entry never loses state, because the store has it.
 */
export class ActorCache {
  readonly #activations = new Map<Address, Held>();
  /** Those of kinds that leave memory earlier (`ActorDefinition.idleMs`), in order of use as well. */
  readonly #brief = new Map<Address, Held>();
  /** How often this process took each partition. */
  readonly #terms = new Map<Partition, number>();
  readonly #bounds: CacheBounds;
  readonly #clock: Clock;
  #bytes = 0;

  constructor(clock: Clock, bounds: CacheBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#activations.size;
  }

  /** Size of the encoded states. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins another term of a partition, when this process takes it from an earlier holder. Actors that were loaded in an
   * earlier term are not found any more, and are not kept when their commit ends late: the holders in between may have
   * changed them.
   */
  begin(partition: Partition): void {
    this.#terms.set(partition, this.termOf(partition) + 1);
  }

  /** The present term of a partition. */
  termOf(partition: Partition): number {
    return this.#terms.get(partition) ?? 0;
  }

  get(address: Address): Activation | undefined {
    const found = this.#activations.get(address);
    if (found === undefined || !this.#isOfThisTerm(found.activation)) return undefined;
    // Inserting again keeps the map in order of use.
    this.#activations.delete(address);
    found.usedAt = this.#clock.monotonic();
    this.#activations.set(address, found);
    if (this.#brief.delete(address)) this.#brief.set(address, found);
    return found.activation;
  }

  /** `get` by a reader that does not use the actor: it leaves memory as if it had not been read. */
  peek(address: Address): Activation | undefined {
    const found = this.#activations.get(address)?.activation;
    return found !== undefined && this.#isOfThisTerm(found) ? found : undefined;
  }

  #isOfThisTerm({ partition, term }: Activation): boolean {
    return term === this.termOf(partition);
  }

  put(activation: Activation): void {
    const { address, size } = activation;
    this.drop(address);
    if (!this.#isOfThisTerm(activation)) return;
    const held = { activation, size, usedAt: this.#clock.monotonic() };
    this.#activations.set(address, held);
    if (activation.definition.idleMs !== undefined) this.#brief.set(address, held);
    this.#bytes += size;
    const { actors, bytes } = this.#bounds;
    const isWithin = (): boolean => this.#activations.size <= actors && this.#bytes <= bytes;
    // A lookup of the first entry skips all entries that were removed before it.
    if (isWithin()) return;
    for (const oldest of this.#activations.keys()) {
      if (oldest === address || isWithin()) return;
      this.drop(oldest);
    }
  }

  drop(address: Address): void {
    const held = this.#activations.get(address);
    if (held === undefined) return;
    this.#activations.delete(address);
    this.#brief.delete(address);
    this.#bytes -= held.size;
  }

  dropPartitions(partitions: ReadonlySet<Partition>): void {
    for (const [address, { activation }] of this.#activations)
      if (partitions.has(activation.partition)) this.drop(address);
  }

  /** Drops actors that were not used for `idleMs`, or for the shorter time of their kind. */
  passivate(): void {
    const now = this.#clock.monotonic();
    for (const [address, { usedAt, activation }] of this.#brief) {
      if (now - usedAt < Math.min(this.#bounds.idleMs, activation.definition.idleMs ?? 0)) break;
      this.drop(address);
    }
    for (const [address, { usedAt }] of this.#activations) {
      if (now - usedAt < this.#bounds.idleMs) return;
      this.drop(address);
    }
  }
}
