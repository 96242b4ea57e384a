import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import type { ApiKeyDocument } from './record.ts';

const RESOLUTION_MS = 60_000;
const MOST_REMEMBERED = 10_000;

/** When keys were used last, to the minute. A call never waits for it, and a change of the key is never lost to it. */
export class KeyUses {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #notedAt = new Map<string, number>();
  readonly #writes = new Set<Promise<unknown>>();

  constructor(parts: {
    readonly keys: Collection<ApiKeyDocument>;
    readonly clock: Pick<Clock, 'now'>;
    readonly warn: (message: string, error: unknown) => void;
  }) {
    this.#keys = parts.keys;
    this.#clock = parts.clock;
    this.#warn = parts.warn;
  }

  note(key: ApiKeyDocument): void {
    const now = this.#clock.now();
    const stored = key.last_used_at === null ? 0 : Date.parse(key.last_used_at);
    if (now - Math.max(this.#notedAt.get(key.id) ?? 0, stored) < RESOLUTION_MS) return;
    if (this.#notedAt.size >= MOST_REMEMBERED) this.#notedAt.clear();
    this.#notedAt.set(key.id, now);
    const used = { ...key, last_used_at: new Date(now).toISOString(), version: key.version + 1 };
    // Compare and set: when somebody revokes it meanwhile, this write is the one that is not made.
    const write = this.#keys
      .replace(used, key.version)
      .catch((error: unknown) => this.#warn(`the last use of API key ${key.id} was not written`, error))
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }
}
