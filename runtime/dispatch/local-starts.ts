import { type Commit, changesOf, type EffectLedger, type PartitionChanges } from '../actor-store.ts';
import { isSharedLog, type Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob, EffectQueue, EffectSlot, StartedEffect } from '../effect-queue.ts';
import { persist } from '../effects/effect-runner-report.ts';
import { toSvcError } from '../errors.ts';
import type { Random } from '../random.ts';
import { AheadOfCommit } from './ahead-of-commit.ts';

interface LocalStartsOptions {
  readonly queue: Pick<EffectQueue, 'reserve'>;
  /** `node/incarnation` of this process's effect runner. */
  readonly runner: string;
  readonly claimTtlMs: number;
  readonly store: Pick<EffectLedger, 'reopenEffect'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

interface Slot {
  readonly partition: Partition;
  readonly slot: EffectSlot;
  readonly started: StartedEffect;
}

/** The effects of one commit that this process starts. Ends with `begin`, `free` or `disown`. */
export interface Starting {
  readonly commit: Commit;
  /** Call it when the commit is durable: runs the effect if it is one of these. */
  begin(job: EffectJob): boolean;
  /** Call it when the commit did not happen: frees the slots. */
  free(): void;
  /**
   * Call it when the commit may have happened but this process does not continue with it: none of its effects has begun or
   * will, except those that run ahead, which are stopped.
   */
  disown(): void;
}

/**
 * Starts effects with the commit that opens them. While this process has a slot for an effect, the commit is also its
 * claim: the mark is durable before the effect runs, and no second write is needed (E1, E2).
 */
export class LocalStarts {
  readonly #options: LocalStartsOptions;
  /** Effects of commits under way, each with the function that takes it away from its commit. */
  readonly #underWay = new Map<string, (id: string) => void>();
  /** Effects that are being given back, each with a promise that resolves when that is done. */
  readonly #disowned = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(options: LocalStartsOptions) {
    this.#options = options;
  }

  /** Creates the set of one batch's effects that need not wait for its commit. */
  ahead(): AheadOfCommit {
    return new AheadOfCommit(this.#options);
  }

  /**
   * Reserves slots for the effects of a commit. `bodies` holds the full encoded requests by effect id. `ahead` holds
   * the effects that this process runs already.
   */
  of(commit: Commit, bodies: ReadonlyMap<string, string>, ahead: ReadonlyMap<string, unknown>): Starting {
    // Most commits open no effect, and they change many partitions.
    if (!opensEffects(commit)) return { commit, begin: ({ id }) => ahead.has(id), free() {}, disown() {} };
    const { queue, runner, claimTtlMs, clock } = this.#options;
    const slots = new Map<string, Slot>();
    const claimedAt = clock.monotonic();
    const letGo = (id: string): void => {
      slots.get(id)?.slot.free();
      slots.delete(id);
    };
    const end = (id: string): void => {
      slots.delete(id);
      if (this.#underWay.get(id) === letGo) this.#underWay.delete(id);
    };
    const mark = { runner, ttlMs: claimTtlMs };
    const running: { readonly id: string; readonly partition: Partition }[] = [];
    const marked = ({ partition, effectsOpened }: PartitionChanges & { readonly partition: Partition }) =>
      effectsOpened.map((effect) => {
        if (ahead.has(effect.id)) {
          running.push({ id: effect.id, partition });
          return { ...effect, started: mark };
        }
        const body = bodies.get(effect.id);
        // The same turn was in an earlier commit of unknown outcome: from here on this commit owns the effect.
        this.#underWay.get(effect.id)?.(effect.id);
        const slot = body === undefined || this.#disowned.has(effect.id) ? null : queue.reserve(effect.queue, effect);
        if (body === undefined || slot === null) return effect;
        this.#underWay.set(effect.id, letGo);
        slots.set(effect.id, { partition, slot, started: { attempt: 1, body, claimedAt } });
        return { ...effect, started: mark };
      });
    const changes = changesOf(commit).map((part) => ({ ...part, effectsOpened: marked(part) }));
    return {
      commit: slots.size + running.length === 0 ? commit : withOpened(commit, changes),
      begin(job) {
        const found = slots.get(job.id);
        end(job.id);
        found?.slot.run(job, found.started);
        return found !== undefined || ahead.has(job.id);
      },
      free: () => {
        for (const [id, { slot }] of slots) {
          slot.free();
          end(id);
        }
      },
      disown: () => {
        for (const [id, { partition, slot }] of slots) {
          slot.free();
          end(id);
          this.#giveBack(partition, id);
        }
        for (const { id, partition } of running) this.#giveBack(partition, id);
      },
    };
  }

  /** Resolves when the effect may be claimed. A claim before the give-back is done would find the effect in doubt. */
  async mayClaim(id: string): Promise<void> {
    await this.#disowned.get(id);
  }

  /** Stops trying to give effects back. Their claims expire. */
  stop(): void {
    this.#stopped.abort();
  }

  /**
   * Gives back an effect that did not begin. A later claim of a `once` effect recorded as started would find it in
   * doubt, but this process knows that it did not begin. The runner is named because the same turn may have run again
   * elsewhere and begun the effect.
   */
  #giveBack(partition: Partition, id: string): void {
    const { store, runner, warn } = this.#options;
    const given = persist(() => store.reopenEffect(partition, id, 1, 0, runner), this.#options, this.#stopped.signal)
      .then(() => undefined)
      .catch((thrown: unknown) =>
        warn(`effect ${id} did not begin and could not be reopened; its claim expires`, toSvcError(thrown)),
      )
      .finally(() => this.#disowned.delete(id));
    this.#disowned.set(id, given);
  }
}

const opensEffects = (commit: Commit): boolean =>
  changesOf(commit).some(({ effectsOpened }) => effectsOpened.length > 0);

function withOpened(
  commit: Commit,
  changes: readonly (PartitionChanges & { readonly partition: Partition })[],
): Commit {
  if (isSharedLog(commit.lease.log)) return { ...commit, partitions: changes };
  return { ...commit, effectsOpened: changes.flatMap(({ effectsOpened }) => effectsOpened) };
}
