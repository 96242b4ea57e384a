import type { ActorStore } from '../actor-store.ts';
import { type Address, parseAddress } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Registry } from '../define-actor.ts';
import type { Collection, Documents, Position, StoredDocument } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { repeat, sleep } from '../kit/waits.ts';
import type { KeptFrom } from '../ledger/kept-from.ts';
import { DEAD_LETTERS, LEDGER } from '../ledger/segments.ts';
import type { Locator } from '../locator.ts';
import { retainedOf } from '../projection/actor-projection.ts';
import { ARCHIVED_ACTORS, type ArchivedActor } from '../projection/archive.ts';
import type { Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import { addressOf, oldActor, type Removals, storedOf } from './removals.ts';

/** How many entries were removed, by the name of their rule. */
export type Swept = Readonly<Record<string, number>>;

export interface RetentionParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly documents: Documents;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly removals: Removals;
  /** Notes since when the ledger of a tenant is kept. */
  readonly kept: Pick<KeptFrom, 'note'>;
  readonly clock: Pick<Clock, 'after'>;
  /**
   * The time by which ages are counted, Unix ms: that of the store, so that a node whose clock is wrong or is set removes nothing
   * early.
   */
  readonly now: () => Promise<number>;
  readonly policy: RetentionPolicy;
  readonly intervalMs: number;
  /** Whether this node runs the sweep now. One node of a fleet does. */
  readonly isMine: () => boolean;
  /** The ended actors among these that a running one needs, beside those that belong to it. */
  readonly neededOf: (tenant: string, addresses: readonly Address[]) => Promise<ReadonlySet<Address>>;
  /** Small steps of the stores' own upkeep. Each returns whether more is left to do. */
  readonly upkeep: readonly (() => Promise<boolean>)[];
  readonly onSwept: (swept: Swept) => void;
  readonly warn: (message: string, error: unknown) => void;
}

/** Size of one step, and the pause after it in which the stores serve others. */
const PAGE = 100;

const SEGMENTS = 16;

const PAUSE_MS = 20;

/** Limits of one sweep. The next one continues. */
const MOST_REMOVED = 20_000;

const MOST_UPKEEP_STEPS = 2_000;

/**
 * Removes entries that are older than their rule allows, and the oldest ones where a tenant keeps more than its rule
 * allows (docs/explanation/semantics.md, Retention). It works in small steps with pauses. The next sweep, on any node,
 * continues an interrupted one.
 */
export class Retention {
  readonly #parts: RetentionParts;
  readonly #actors: Collection<ArchivedActor>;
  readonly #lists: readonly {
    readonly thing: string;
    readonly field: string;
    readonly all: Collection<StoredDocument>;
  }[];
  readonly #stopping = new AbortController();
  #endSweeps: () => Promise<void> = async () => {};

  static async open(parts: RetentionParts): Promise<Retention> {
    const { documents } = parts;
    return new Retention(parts, await documents.collection<ArchivedActor>(ARCHIVED_ACTORS), [
      { thing: 'ledger', field: 'to_at', all: await documents.collection(LEDGER) },
      { thing: 'dead_letters', field: 'at', all: await documents.collection(DEAD_LETTERS) },
    ]);
  }

  constructor(
    parts: RetentionParts,
    actors: Collection<ArchivedActor>,
    lists: readonly { readonly thing: string; readonly field: string; readonly all: Collection<StoredDocument> }[],
  ) {
    this.#parts = parts;
    this.#actors = actors;
    this.#lists = lists;
  }

  start(): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, intervalMs } = this.#parts;
    this.#endSweeps = repeat(clock, intervalMs, () => this.#sweepOnce());
  }

  /** Stops after the running step. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#endSweeps();
  }

  async #sweepOnce(): Promise<void> {
    if (!this.#parts.isMine()) return;
    try {
      const swept = await this.sweep();
      if (Object.values(swept).some((count) => count > 0)) this.#parts.onSwept(swept);
    } catch (thrown) {
      // The next sweep finds the rest.
      this.#parts.warn('the retention sweep failed; the next one continues it', toSvcError(thrown));
    }
  }

  /** Runs one sweep over everything. Tests call it too. */
  async sweep(): Promise<Swept> {
    const swept: Record<string, number> = {};
    const count = (thing: string, removed: number): void => {
      swept[thing] = (swept[thing] ?? 0) + removed;
    };
    count('deleted', await this.#finishRemovals());
    for (const tenant of await this.#actors.tenants()) {
      await this.#describeOld(tenant);
      for (const thing of this.#things()) count(thing, await this.#sweepActors(tenant, thing));
    }
    for (const { thing, field, all } of this.#lists) {
      for (const tenant of await all.tenants()) count(thing, await this.#sweepList(tenant, thing, field, all));
    }
    for (const step of this.#parts.upkeep) await this.#upkeep(step);
    return swept;
  }

  /** Looks at every removal that has begun. Returns how many were finished. */
  async #finishRemovals(): Promise<number> {
    const { removals, warn } = this.#parts;
    let removed = 0;
    for (let after: Position | undefined; !this.#stopping.signal.aborted; ) {
      const { finished, next, failure } = await removals.step(after);
      removed += finished;
      if (failure !== undefined) warn('deleted actors could not be removed; the next sweep tries again', failure);
      if (next === undefined) break;
      after = next;
      await this.#pause();
    }
    return removed;
  }

  /** All rule names of the definitions; `runs` for those that name none. */
  #things(): Set<string> {
    const archived = this.#parts.registry.definitions.filter(({ done }) => done !== undefined);
    return new Set(archived.map(({ retainedAs }) => retainedAs ?? 'runs'));
  }

  /** Adds the fields for retention to actors that earlier versions archived. Their time begins now. */
  async #describeOld(tenant: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const old = await this.#actors.find({ tenant, where: { retained_as: null }, limit: PAGE });
      for (const actor of old) {
        const retained = await this.#described(actor);
        await this.#actors.replace({ ...actor, ...retained }, actor.version);
      }
      if (old.length < PAGE) return;
      await this.#pause();
    }
  }

  async #described(actor: ArchivedActor): Promise<Partial<ArchivedActor>> {
    const { registry, payloads } = this.#parts;
    const { tenant, id } = parseAddress(actor.id);
    const now = await this.#parts.now();
    const unknown = { retained_as: 'runs', ended_at: now, bytes: actor.record.length, parent: null, view_id: id };
    const definition = registry.definitionOf(addressOf(actor));
    if (definition === undefined) return unknown;
    try {
      const text = await payloads.unpack(actor.record);
      const { state } = decodeRecord(definition, text);
      const { retainedAs, parent, viewId } = retainedOf(definition, state, { tenant, id }, now);
      return { retained_as: retainedAs, ended_at: now, bytes: text.length, parent, view_id: viewId };
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      return unknown;
    }
  }

  /**
   * Removes old actors, oldest first. Actors that are still needed are skipped, without keeping younger ones from being
   * removed.
   */
  async #sweepActors(tenant: string, thing: string): Promise<number> {
    const rule = this.#parts.policy.ruleOf(tenant, thing);
    if (rule.retentionMs === null && rule.retentionBytes === null) return 0;
    let excess = await this.#excess(rule, { tenant, where: { retained_as: thing } }, this.#actors);
    const before = await this.#before(rule);
    let removed = 0;
    for (let kept = 0; removed < MOST_REMOVED && !this.#stopping.signal.aborted; ) {
      const where = { retained_as: thing };
      const page = await this.#actors.find({ tenant, where, sort: [['ended_at', 'asc']], limit: PAGE, skip: kept });
      const isDue = (actor: ArchivedActor): boolean => (actor.ended_at ?? 0) < before || excess > 0;
      const needed = await this.#neededOf(tenant, page.filter(isDue));
      const going: ArchivedActor[] = [];
      let isDone = page.length < PAGE;
      for (const actor of page) {
        if (!isDue(actor)) {
          isDone = true;
          break;
        }
        if (needed.has(actor)) {
          kept += 1;
          continue;
        }
        going.push(actor);
        excess -= actor.bytes ?? 0;
      }
      removed += await this.#remove(tenant, going);
      if (isDone) return removed;
      await this.#pause();
    }
    return removed;
  }

  /**
   * Actors that are still needed: the actor that they belong to runs or is kept by the same rule, or a running actor
   * needs them.
   */
  async #neededOf(tenant: string, actors: readonly ArchivedActor[]): Promise<ReadonlySet<ArchivedActor>> {
    if (actors.length === 0) return new Set();
    const addresses = actors.map(addressOf);
    const parents = actors.map(parentOf);
    const asked = [...addresses, ...parents.flatMap((parent) => parent ?? [])];
    const [stored, needed, kept] = await Promise.all([
      // An ended actor in the store has a message to answer or is active again; a parent in the store runs.
      storedOf(
        this.#parts,
        asked.filter((address) => this.#parts.registry.definitionOf(address) !== undefined),
      ),
      this.#parts.neededOf(tenant, addresses),
      this.#archivedOf(tenant, parents),
    ]);
    return new Set(
      actors.filter((actor, index) => {
        const [address, parent = null] = [addressOf(actor), parents[index]];
        if (stored.has(address) || needed.has(address)) return true;
        if (parent === null) return false;
        return stored.has(parent) || (kept.has(parent) && kept.get(parent) === actor.retained_as);
      }),
    );
  }

  /** The rule by which each of these archived actors is kept. */
  async #archivedOf(tenant: string, parents: readonly (Address | null)[]): Promise<Map<Address, string | undefined>> {
    const found = new Map<Address, string | undefined>();
    const asked = new Set(parents.filter((parent) => parent !== null));
    await Promise.all(
      [...asked].map(async (parent) => {
        const archived = await this.#actors.get(tenant, parent);
        if (archived !== null) found.set(parent, archived.retained_as);
      }),
    );
    return found;
  }

  async #remove(tenant: string, actors: readonly ArchivedActor[]): Promise<number> {
    if (this.#stopping.signal.aborted) return 0;
    await this.#parts.removals.removeOld(tenant, actors.map(oldActor));
    return actors.length;
  }

  async #sweepList(tenant: string, thing: string, field: string, all: Collection<StoredDocument>): Promise<number> {
    const rule = this.#parts.policy.ruleOf(tenant, thing);
    if (rule.retentionMs === null && rule.retentionBytes === null) return 0;
    let excess = await this.#excess(rule, { tenant }, all);
    const before = await this.#before(rule);
    let removed = 0;
    while (removed < MOST_REMOVED && !this.#stopping.signal.aborted) {
      const page = await all.find({ tenant, sort: [[field, 'asc']], limit: SEGMENTS });
      const gone = page.filter((one) => {
        const go = numberOf(one, field) < before || excess > 0;
        if (go) excess -= numberOf(one, 'bytes');
        return go;
      });
      const last = gone.at(-1);
      if (thing === 'ledger' && last !== undefined) await this.#parts.kept.note(tenant, numberOf(last, field));
      await Promise.all(gone.map(({ id }) => all.delete(tenant, id)));
      removed += gone.length;
      if (gone.length < SEGMENTS) return removed;
      await this.#pause();
    }
    return removed;
  }

  async #before({ retentionMs }: RetentionRule): Promise<number> {
    return retentionMs === null ? Number.NEGATIVE_INFINITY : (await this.#parts.now()) - retentionMs;
  }

  async #excess<T extends StoredDocument>(
    { retentionBytes }: RetentionRule,
    query: Parameters<Collection<T>['total']>[0],
    all: Collection<T>,
  ): Promise<number> {
    return retentionBytes === null ? 0 : (await all.total(query, 'bytes')) - retentionBytes;
  }

  async #upkeep(step: () => Promise<boolean>): Promise<void> {
    for (let count = 0; count < MOST_UPKEEP_STEPS && !this.#stopping.signal.aborted; count += 1) {
      if (!(await step())) return;
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    return sleep(this.#parts.clock, PAUSE_MS, this.#stopping.signal);
  }
}

/**
 * Address of the parent. Null also for text that cannot be an address, because callers may name a run that never
 * existed.
 */
function parentOf({ parent = null }: ArchivedActor): Address | null {
  if (parent === null) return null;
  try {
    const { kind, tenant, id } = parseAddress(parent);
    return `${kind}/${tenant}/${id}`;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'invalid_argument') return null;
    throw thrown;
  }
}

function numberOf(document: StoredDocument, field: string): number {
  const value: unknown = Object.entries(document).find(([name]) => name === field)?.[1];
  return typeof value === 'number' ? value : 0;
}

/**
 * How long and how much of something is kept, with the terms of Kafka (`retention.ms`, `retention.bytes`). The limit
 * reached first applies. Null: no limit.
 */
export interface RetentionRule {
  /** Milliseconds from the end of the entry. */
  readonly retentionMs: number | null;
  /** Bytes of one tenant. The oldest entries are removed first. */
  readonly retentionBytes: number | null;
}

/** Rules by name: `ledger`, `dead_letters`, and the names in `retainedAs` of actor definitions. */
export type RetentionRules = Readonly<Record<string, RetentionRule>>;

interface RetentionPolicy {
  ruleOf(tenant: string, thing: string): RetentionRule;
}

const WITHOUT_END: RetentionRule = { retentionMs: null, retentionBytes: null };

/**
 * Combines the rules: a tenant's own rules override `rules`, field by field. Entries without a rule are kept without
 * limit.
 */
export function retentionPolicy(
  rules: RetentionRules,
  tenants: ReadonlyMap<string, Readonly<Record<string, Partial<RetentionRule>>>> = new Map(),
): RetentionPolicy {
  return {
    ruleOf: (tenant, thing) => ({ ...WITHOUT_END, ...rules[thing], ...tenants.get(tenant)?.[thing] }),
  };
}
