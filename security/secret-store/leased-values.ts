import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';

const MOST_ENTRIES = 1_000;

interface Entry {
  readonly value: string;
  /** Start of the read, monotonic ms. */
  readonly readAt: number;
}

/**
 * Values in memory with a lease. A value is read again after `refreshMs`, so a change on another node is seen within that time.
 * While the store cannot be reached it is used until `leaseMs` after its last read; then reads fail as the store does. Missing
 * values are not kept.
 */
export class LeasedValues {
  readonly #read: (tenant: string, name: string) => Promise<string | null>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #refreshMs: number;
  readonly #leaseMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #reading = new Map<string, Promise<string | null>>();

  constructor(parts: {
    readonly read: (tenant: string, name: string) => Promise<string | null>;
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly refreshMs: number;
    readonly leaseMs: number;
  }) {
    this.#read = parts.read;
    this.#clock = parts.clock;
    this.#refreshMs = parts.refreshMs;
    this.#leaseMs = parts.leaseMs;
  }

  async get(tenant: string, name: string): Promise<string | null> {
    const id = `${tenant}\n${name}`;
    const known = this.#entries.get(id);
    if (known !== undefined && this.#clock.monotonic() - known.readAt < this.#refreshMs) return known.value;
    try {
      return await this.#refreshed(id, tenant, name);
    } catch (error) {
      const isAway = error instanceof SvcError && error.code === 'unavailable';
      if (!isAway || known === undefined || this.#clock.monotonic() - known.readAt >= this.#leaseMs) throw error;
      return known.value;
    }
  }

  /** Drops the values of a tenant after a change on this node, also those that are being read. */
  forget(tenant: string): void {
    for (const known of [this.#entries, this.#reading]) {
      for (const id of known.keys()) if (id.startsWith(`${tenant}\n`)) known.delete(id);
    }
  }

  /** Single flight. */
  #refreshed(id: string, tenant: string, name: string): Promise<string | null> {
    const running = this.#reading.get(id);
    if (running !== undefined) return running;
    const readAt = this.#clock.monotonic();
    const reading = this.#read(tenant, name);
    this.#reading.set(id, reading);
    const isLatest = (): boolean => this.#reading.get(id) === reading;
    reading.then(
      (value) => {
        if (!isLatest()) return;
        this.#reading.delete(id);
        this.#keep(id, value, readAt);
      },
      () => {
        if (isLatest()) this.#reading.delete(id);
      },
    );
    return reading;
  }

  #keep(id: string, value: string | null, readAt: number): void {
    this.#entries.delete(id);
    if (value === null) return;
    this.#entries.set(id, { value, readAt });
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size > MOST_ENTRIES) this.#entries.delete(oldest);
  }
}
