import type { Clock } from '../../runtime/clock.ts';
import type { StoredEvent } from '../shelf/event-log.ts';
import type { Sources } from './sources.ts';

/**
 * Clocks of nodes may differ by so much, and so long may it take from the moment a change is dated to its entry in the
 * log. What comes later still is found by the next whole comparison (`RECONCILE_MS` in tenant-index.ts).
 */
const MARGIN_MS = 30_000;
const PAGE = 1_000;

/**
 * What changed in a tenant's catalog since it was asked before, by the log of the catalog: an event is there before a
 * change is answered, on whichever node. The last half minute is read again each time, since events are dated by the
 * clocks of several nodes.
 */
export class ChangeReader {
  readonly #events: Sources['events'];
  readonly #tenant: string;
  readonly #clock: Clock;
  /** Unix milliseconds of the last look. */
  #lookedAt: number;
  /** Events that were told already and may be read again, with their dates. */
  #told = new Map<string, string>();

  /** Tells what happens from now on. */
  constructor(parts: { readonly events: Sources['events']; readonly tenant: string; readonly clock: Clock }) {
    this.#events = parts.events;
    this.#tenant = parts.tenant;
    this.#clock = parts.clock;
    this.#lookedAt = this.#clock.now();
  }

  /** Gives the ids of what changed to `take`; if that fails the same are told again the next time. */
  async read(take: (ids: readonly string[]) => Promise<void>): Promise<void> {
    const now = this.#clock.now();
    const since = new Date(Math.min(this.#lookedAt, now) - MARGIN_MS).toISOString();
    const fresh = new Map<string, string>();
    for await (const event of this.#since(since)) {
      if (!this.#told.has(event.id)) fresh.set(event.id, event.recorded_at);
    }
    if (fresh.size > 0) await take([...new Set([...fresh.keys()].map(idOf))]);
    const forgetBefore = new Date(now - MARGIN_MS).toISOString();
    for (const [id, at] of fresh) this.#told.set(id, at);
    for (const [id, at] of this.#told) if (at < forgetBefore) this.#told.delete(id);
    this.#lookedAt = now;
  }

  async *#since(recordedAt: string): AsyncGenerator<StoredEvent, void, undefined> {
    const find = { tenant: this.#tenant, sort: [['recorded_at', 'asc']] as const, limit: PAGE };
    for (let skip = 0; ; skip += PAGE) {
      const page = await this.#events.find({ ...find, where: { recorded_at: { gte: recordedAt } }, skip });
      yield* page;
      if (page.length < PAGE) return;
    }
  }
}

const idOf = (eventId: string): string => eventId.slice(0, eventId.lastIndexOf(':'));
