import type { Address } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EffectRow } from '../../runtime/effect-ledger.ts';
import { type OwnStore, SvcError, unreachableStore } from '../../runtime/errors.ts';
import type { Viewer } from '../../runtime/identity.ts';
import { NewerVersion } from '../../runtime/turns/record.ts';
import type { MemberStatus } from '../ports/cluster.ts';
import { withoutSecrets } from '../traces/reader-view.ts';
import { withoutSecretsOf } from '../waits/wait-reason.ts';
import type { LinkOf, WhyLink } from './links.ts';

/** Lookups behind an explanation. */
export interface WhyLookups {
  readonly client: Pick<ActorClient, 'read' | 'isServed' | 'mailbox'>;
  /** Returns the unsettled ones of these effects of an actor. */
  effects(address: Address, ids: readonly string[]): Promise<readonly EffectRow[]>;
  /** The pool that serves an actor. */
  poolOf(address: Address): Promise<string>;
  /** What blocks a started effect outside of its node, as far as this node knows. */
  heldBy(effectId: string): string | undefined;
  /** The live nodes, and the one that should serve an actor. */
  readonly fleet: {
    members(): Promise<readonly MemberStatus[]>;
    servedBy(address: Address): Promise<string | null>;
    /** According to the last read of the fleet: `node/incarnation`. */
    isLive(holder: string): boolean;
  };
  readonly clock: Clock;
}

/** Most runs in a chain. */
const MOST_RUNS = 20;

/** Time for all reads of one explanation, ms. The answer contains what was read until then. */
const BUDGET_MS = 700;

/** Ends the walk: the link that is the last cause is in the chain. */
class ChainEnded extends Error {}

/**
 * One explanation under way: it collects the links, reads with one time limit for all reads, and ends the chain where
 * a read fails.
 */
export class Reading {
  readonly viewer: Viewer;
  readonly lookups: WhyLookups;
  readonly links: WhyLink[] = [];
  readonly #seen = new Set<Address>();
  readonly #dueAt: number;

  constructor(viewer: Viewer, lookups: WhyLookups) {
    this.viewer = viewer;
    this.lookups = lookups;
    this.#dueAt = lookups.clock.monotonic() + BUDGET_MS;
  }

  get now(): number {
    return this.lookups.clock.now();
  }

  add(...links: readonly WhyLink[]): void {
    this.links.push(...links.map(withoutSecretsIn));
  }

  /** Runs the walk to its end. A store that does not answer and a version that is missing are the last causes then. */
  async walk(step: () => Promise<void>): Promise<readonly WhyLink[]> {
    try {
      await step();
    } catch (thrown) {
      if (!(thrown instanceof ChainEnded)) throw thrown;
    }
    return this.links;
  }

  /** Adds the last link. */
  end(link: WhyLink): never {
    this.add(link);
    throw new ChainEnded();
  }

  /** Begins a further run. Ends the chain when it has the maximum of runs, and at a run that is in the chain already. */
  enter(address: Address): void {
    if (this.#seen.has(address) || this.#seen.size >= MOST_RUNS)
      this.end({ kind: 'more', id: null, until: null, reason: `a chain of more than ${this.#seen.size} runs` });
    this.#seen.add(address);
  }

  read(address: Address): Promise<ActorSnapshot | null> {
    return this.ask('actors', () => this.lookups.client.read(address));
  }

  /** Makes a read. The chain ends when its store is unavailable, or when the time for all reads is over. */
  async ask<T>(store: OwnStore, call: () => Promise<T>): Promise<T> {
    const { clock } = this.lookups;
    const late = Promise.withResolvers<'late'>();
    const cancel = clock.after(Math.max(0, this.#dueAt - clock.monotonic()), () => late.resolve('late'));
    const reading = call().then((value) => ({ value }));
    try {
      const first = await Promise.race([reading, late.promise]);
      if (first !== 'late') return first.value;
    } catch (thrown) {
      if (thrown instanceof NewerVersion) return this.end(newerActor(thrown));
      const away = unreachableStore(thrown) ?? (isPassing(thrown) ? store : null);
      if (away === null) throw thrown;
      return this.end(unreachableStoreLink(away));
    } finally {
      cancel();
    }
    // The read continues without a listener; its failure was answered already.
    reading.catch(() => undefined);
    return this.end(unreachableStoreLink(store));
  }
}

/** Texts of errors come from outside and may hold a secret. */
function withoutSecretsIn(link: WhyLink): WhyLink {
  const reason = withoutSecrets(link.reason);
  switch (link.kind) {
    case 'effect':
      return { ...link, reason, last_error: link.last_error && withoutSecretsOf(link.last_error) };
    case 'attempt':
    case 'error':
      return { ...link, reason, error: withoutSecretsOf(link.error) };
    case 'stuck':
      return { ...link, reason, error: withoutSecrets(link.error) };
    default:
      return { ...link, reason };
  }
}

const isPassing = (thrown: unknown): boolean => thrown instanceof SvcError && thrown.code === 'unavailable';

const NAMES: Readonly<Record<OwnStore, string>> = {
  actors: 'the store of actors',
  documents: 'the documents',
  blobs: 'the store of large payloads',
  queue: 'the queue of effects',
  limits: 'the store of rate limits',
  secrets: 'the store of secrets',
};

/** The store is the cause: it did not answer in time. */
const unreachableStoreLink = (store: OwnStore): LinkOf<'store'> => ({
  kind: 'store',
  id: store,
  until: null,
  reason: `${NAMES[store]}, which ${store === 'documents' ? 'do' : 'does'} not answer`,
});

const newerActor = ({ message }: NewerVersion): LinkOf<'version'> => ({
  kind: 'version',
  id: null,
  until: null,
  of: 'actor',
  reason: `a node of a newer version: ${message}`,
});
