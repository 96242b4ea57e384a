import type { Collection, Condition, StoredDocument } from '../../runtime/documents.ts';

/** What happened to something deployed. Its record carries the last one, written before the log. */
export interface RecordedEvent {
  readonly sequence: number;
  readonly event_type: string;
  /** Names who did it and when. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
}

/** A record whose last event may have missed the log. */
export interface Logged {
  readonly tenant: string;
  readonly id: string;
  readonly last_event: RecordedEvent;
}

/**
 * A stored event; its id is `owner:sequence`, so that recording twice is harmless. A field of the kind's name holds the
 * owner: `agent_id` or `workflow_id`.
 */
export interface StoredEvent extends StoredDocument, RecordedEvent {}

/** Tells those who keep something in step with the catalog (`CatalogChanges`). */
type Note = (tenant: string, id: string) => Promise<void>;

/** Log of what is deployed, one for each agent or workflow; `ownerField` names the field that holds whose event it is. */
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
    // First, so that what is missing in the log after a crash is noted again with it.
    await this.#note(tenant, id);
    await this.#events.insert(row);
  }

  /** Records what a crash may have left only in the record. */
  async recover(record: Logged): Promise<void> {
    const found = await this.#events.get(record.tenant, `${record.id}:${record.last_event.sequence}`);
    if (found === null) await this.record(record);
  }

  count({ tenant, id }: LogOf): Promise<number> {
    return this.#events.count({ tenant, where: { [this.#ownerField]: id } });
  }

  async newest({ tenant, id }: LogOf): Promise<RecordedEvent | null> {
    const [found] = await this.#find({ tenant, id }, 'desc', { limit: 1 });
    return found ?? null;
  }

  /** Oldest first, those behind a sequence number only. */
  read(of: LogOf, { behind = 0, ...page }: LogPage): Promise<RecordedEvent[]> {
    return this.#find(of, 'asc', page, behind === 0 ? {} : { sequence: { gt: behind } });
  }

  async #find(
    { tenant, id }: LogOf,
    order: 'asc' | 'desc',
    page: { readonly limit: number; readonly skip?: number },
    more: Readonly<Record<string, Condition>> = {},
  ): Promise<RecordedEvent[]> {
    const where = { [this.#ownerField]: id, ...more };
    const found = await this.#events.find({ tenant, where, sort: [['sequence', order]], ...page });
    return found.map(({ sequence, event_type, payload, recorded_at }) => ({
      ...{ sequence, event_type },
      ...{ payload, recorded_at },
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
