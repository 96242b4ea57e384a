import type { Collection, Condition, StoredDocument } from '../../runtime/documents.ts';
import type { CatalogLogEvent } from '../api.ts';

/** A record whose last event may be missing in the log. */
interface Logged {
  readonly tenant: string;
  readonly id: string;
  readonly last_event: CatalogLogEvent;
}

/**
 * A stored event. Its id is `owner:sequence`, so that recording it again has no effect. The field `agent_id` or `workflow_id`
 * holds the owner.
 */
export interface StoredEvent extends StoredDocument, CatalogLogEvent {}

/** Notes a change (see `CatalogChanges`). */
type Note = (tenant: string, id: string) => Promise<void>;

/** The logs of agents or of workflows, one for each; `ownerField` is the field with the id of the owner. */
export class EventLog {
  readonly #events: Collection<StoredEvent>;
  readonly #ownerField: string;
  readonly #note: Note;

  constructor(events: Collection<StoredEvent>, ownerField: string, note: Note = async () => {}) {
    this.#events = events;
    this.#ownerField = ownerField;
    this.#note = note;
  }

  async record({ tenant, id, last_event }: Logged): Promise<void> {
    const row = { tenant, id: `${id}:${last_event.sequence}`, version: 1, ...last_event, [this.#ownerField]: id };
    // Noted first: after a crash the missing event is noted again together with its log entry.
    await this.#note(tenant, id);
    await this.#events.insert(row);
  }

  /** Records the last event of a record, which a crash may have kept out of the log. */
  async recover(record: Logged): Promise<void> {
    const found = await this.#events.get(record.tenant, `${record.id}:${record.last_event.sequence}`);
    if (found === null) await this.record(record);
  }

  count({ tenant, id }: LogOf): Promise<number> {
    return this.#events.count({ tenant, where: { [this.#ownerField]: id } });
  }

  async newest({ tenant, id }: LogOf): Promise<CatalogLogEvent | null> {
    const [found] = await this.#find({ tenant, id }, 'desc', { limit: 1 });
    return found ?? null;
  }

  /** Oldest first, only events after the sequence number `behind`. */
  read(of: LogOf, { behind = 0, ...page }: LogPage): Promise<CatalogLogEvent[]> {
    return this.#find(of, 'asc', page, behind === 0 ? {} : { sequence: { gt: behind } });
  }

  async #find(
    { tenant, id }: LogOf,
    order: 'asc' | 'desc',
    page: { readonly limit: number; readonly skip?: number },
    more: Readonly<Record<string, Condition>> = {},
  ): Promise<CatalogLogEvent[]> {
    const where = { [this.#ownerField]: id, ...more };
    const found = await this.#events.find({ tenant, where, sort: [['sequence', order]], ...page });
    return found.map(({ sequence, event_type, payload, recorded_at }) => ({
      sequence,
      event_type,
      payload,
      recorded_at,
    }));
  }
}

interface LogPage {
  readonly limit: number;
  readonly skip?: number;
  readonly behind?: number;
}

interface LogOf {
  readonly tenant: string;
  readonly id: string;
}
