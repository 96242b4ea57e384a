import type { OperationEntry } from '../../manifests/audit/entries.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Equal denials and failures within this time are one entry. */
export const WINDOW_MS = 60_000;

/** Most different denials and failures of a tenant that have entries of their own within the window. */
const MOST_DIFFERENT = 100;

interface Repeated {
  readonly tenant: string;
  /** The latest one, with the number of those that no entry stands for yet. */
  entry: OperationEntry;
  count: number;
}

type Write = (tenant: string, entry: OperationEntry) => void;

/**
 * Bounds the entries of denials and failures: the first of a caller, an operation and an error is written at once, all
 * others of the same minute are one entry with their number. Beyond 100 different ones in a tenant the others are
 * counted together, so that no caller can fill the store.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #write: Write;
  readonly #open = new Map<string, Repeated>();
  readonly #different = new Map<string, number>();
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, write: Write) {
    this.#clock = clock;
    this.#write = write;
  }

  add(tenant: string, entry: OperationEntry): void {
    this.#cancel ??= this.#clock.after(WINDOW_MS, () => this.flush());
    const key = keyOf(tenant, entry);
    const known = this.#open.get(key);
    const different = this.#different.get(tenant) ?? 0;
    if (known !== undefined) count(known, entry);
    else if (different >= MOST_DIFFERENT) this.#addToOthers(tenant, entry);
    else {
      this.#different.set(tenant, different + 1);
      this.#open.set(key, { tenant, entry, count: 0 });
      this.#write(tenant, entry);
    }
  }

  #addToOthers(tenant: string, entry: OperationEntry): void {
    const key = `${tenant} others`;
    const others = this.#open.get(key) ?? { tenant, entry, count: 0 };
    this.#open.set(key, others);
    const merged = { ...entry, subject: null, caller: null, roles: [], target: null, address: null };
    count(others, { ...merged, operation: OTHERS, reason: null });
  }

  /** Writes what was counted. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const all = [...this.#open.values()];
    this.#open.clear();
    this.#different.clear();
    for (const { tenant, entry, count } of all) if (count > 0) this.#write(tenant, { ...entry, count });
  }
}

/** Operation of an entry that stands for denials of many callers. */
const OTHERS = 'others';

function count(repeated: Repeated, entry: OperationEntry): void {
  repeated.entry = entry;
  repeated.count += 1;
}

/** A caller that was not identified is known by its address only, whatever it asks for. */
const keyOf = (tenant: string, { subject, operation, error, address }: OperationEntry): string =>
  JSON.stringify(subject === null ? [tenant, null, error, address] : [tenant, subject, error, operation]);
