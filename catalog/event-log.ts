import type { Collection, StoredDocument } from '../runtime/documents.ts';
import type { CatalogLogEvent } from './api.ts';

/** What happened to something deployed. Its record carries the last one, written before the log. */
export interface RecordedEvent<Type extends string = string> {
  readonly sequence: number;
  readonly event_type: Type;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
}

/** A record whose last event may have missed the log. */
export interface Logged {
  readonly tenant: string;
  readonly id: string;
  readonly last_event: RecordedEvent;
}

/** A stored event; its id is `owner:sequence`, so that recording twice is harmless. */
export interface StoredEvent extends StoredDocument, RecordedEvent {}

/** Log of what is deployed, one for each agent or workflow; `ownerField` names the field that holds whose event it is. */
export class EventLog<Row extends StoredEvent> {
  readonly #events: Collection<Row>;
  readonly #ownerField: string;
  readonly #row: (event: StoredEvent, owner: string) => Row;

  constructor(parts: {
    readonly events: Collection<Row>;
    readonly ownerField: keyof Row & string;
    readonly row: (event: StoredEvent, owner: string) => Row;
  }) {
    this.#events = parts.events;
    this.#ownerField = parts.ownerField;
    this.#row = parts.row;
  }

  async record({ tenant, id, last_event }: Logged): Promise<void> {
    await this.#events.insert(this.#row({ tenant, id: `${id}:${last_event.sequence}`, version: 1, ...last_event }, id));
  }

  /** Records what a crash may have left only in the record. */
  async recover(record: Logged): Promise<void> {
    const found = await this.#events.get(record.tenant, `${record.id}:${record.last_event.sequence}`);
    if (found === null) await this.record(record);
  }

  /** Oldest first. */
  async read(
    tenant: string,
    owner: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }> {
    const where = { [this.#ownerField]: owner };
    const total = await this.#events.count({ tenant, where });
    const sort = [['sequence', 'asc']] as const;
    const found = await this.#events.find({ tenant, where, sort, limit: page.limit, skip: page.offset });
    const events = found.map(({ sequence, event_type, payload, recorded_at }) => ({
      sequence,
      event_type,
      payload,
      recorded_at,
    }));
    return { events, total };
  }
}
