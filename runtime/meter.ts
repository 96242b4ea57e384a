import type { Address, Log } from './address.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from './documents.ts';
import type { SvcError } from './errors.ts';

/**
 * What the kernel counts for metrics. It is called where every message passes, so an implementation must be cheap and
 * must not throw. Implemented by `NodeMetrics` (transport/internal/node-metrics.ts).
 */
export interface Meter {
  /** A delivery was committed: how long it waited in its mailbox, and how long its turn took. */
  delivered(kind: string, outcome: string, waitMs: number, turnMs: number): void;
  committed(): void;
  /** The node began or ended to serve a log: a lease was taken over, handed over, or lost. */
  lease(change: 'taken' | 'ended', log: Log): void;
  effectEnded(kind: string, outcome: EffectEnd, ms: number, about: AttemptAbout): void;
  /** A turn was committed that created an actor (`Start`). */
  actorStarted(address: Address, trace: string | null): void;
  /** A turn failed: it is retried, or its message is a dead letter. */
  turnFailed(
    address: Address,
    outcome: 'retried' | 'dead-lettered',
    about: { readonly trace: string | null; readonly error: string },
  ): void;
  /** An actor with a list document ended. */
  runEnded(kind: string, status: string, ms: number, about: RunAbout): void;
}

/** An attempt of an effect, for logs. */
export interface AttemptAbout {
  readonly address: Address;
  readonly trace: string;
  readonly attempt: number;
  readonly effectId: string;
  /** Null: it did not fail. */
  readonly error: SvcError | null;
  /** When the next attempt may begin, Unix ms; null when none follows. */
  readonly retryAtMs: number | null;
}

/** A run that ended, for logs. */
export interface RunAbout {
  readonly address: Address;
  readonly name: string | null;
  readonly trace: string | null;
  readonly reason: string | null;
  /** `failed`: it completed, but in a state that failed. */
  readonly outcome: string | null;
}

/** How an attempt of an effect ended. `dropped`: without a result, because it was cancelled or taken over. */
export type EffectEnd = 'done' | 'failed' | 'retried' | 'in_doubt' | 'dropped';

export const noMeter: Meter = {
  delivered() {},
  committed() {},
  lease() {},
  effectEnded() {},
  actorStarted() {},
  turnFailed() {},
  runEnded() {},
};

/** Called after each call of a port: its name, how long it took, and whether it threw. */
type NoteCall = (call: string, ms: number, failed: boolean) => void;

/** The same port, whose calls that answer by a promise are timed. */
export function timed<T extends object>(port: T, note: NoteCall): T {
  const known = new Map<string, unknown>();
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      const call = known.get(name) ?? timedCall(target, name, member, note);
      known.set(name, call);
      return call;
    },
  });
}

// The type of a function of which nothing is known.
type AnyFunction = typeof Function.prototype;

function timedCall(target: object, name: string, member: AnyFunction, note: NoteCall) {
  return (...args: unknown[]): unknown => {
    const begun = performance.now();
    const answer: unknown = Reflect.apply(member, target, args);
    if (!(answer instanceof Promise)) return answer;
    answer.then(
      () => note(name, performance.now() - begun, false),
      () => note(name, performance.now() - begun, true),
    );
    return answer;
  };
}

/** The same documents, the calls of whose collections are timed. */
export const meteredDocuments = (documents: Documents, note: NoteCall): Documents => ({
  open: () => documents.open(),
  close: () => documents.close(),
  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    return timed(await documents.collection<T>(spec), note);
  },
});
