import type { OperationEntry } from '../../manifests/audit/entries.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Equal entries within this time are written as one. */
const WINDOW_MS = 60_000;

/** Which entries are equal, and how many different ones a tenant may have. */
interface RepeatRules {
  readonly keyOf: (tenant: string, entry: OperationEntry) => string;
  /** Most different entries of a tenant that are written on their own within the window. */
  readonly mostDifferent: number;
  /** Operation of the one entry that counts all further ones. */
  readonly others: string;
}

/** Rules for denials and failures. A caller that was not identified is known by its address only, whatever it requests. */
export const OF_CALLERS: RepeatRules = {
  keyOf: (tenant, { subject, operation, error, address }) =>
    JSON.stringify(subject === null ? [tenant, null, error, address] : [tenant, subject, error, operation]),
  mostDifferent: 100,
  others: 'others',
};

/** Rules for volumes: entries are equal when operation and path are equal. */
export const OF_STORAGE: RepeatRules = {
  keyOf: (tenant, { subject, operation, target }) => JSON.stringify([tenant, subject, operation, target]),
  mostDifferent: 1_000,
  others: 'storage.others',
};

interface Repeated {
  readonly tenant: string;
  /** The latest one, with the number of repeats that are not written yet. */
  entry: OperationEntry;
  count: number;
}

type Write = (tenant: string, entry: OperationEntry) => void;

/**
 * Bounds entries: the first of equal ones is written at once, and its repeats in the same minute become one entry with their
 * number. When a tenant has too many different ones, the others are counted together, so that no caller can fill the store.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #write: Write;
  readonly #rules: RepeatRules;
  readonly #open = new Map<string, Repeated>();
  readonly #different = new Map<string, number>();
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, write: Write, rules: RepeatRules) {
    this.#clock = clock;
    this.#write = write;
    this.#rules = rules;
  }

  add(tenant: string, entry: OperationEntry): void {
    this.#cancel ??= this.#clock.after(WINDOW_MS, () => this.flush());
    const key = this.#rules.keyOf(tenant, entry);
    const known = this.#open.get(key);
    const different = this.#different.get(tenant) ?? 0;
    if (known !== undefined) count(known, entry);
    else if (different >= this.#rules.mostDifferent) this.#addToOthers(tenant, entry);
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
    count(others, { ...merged, operation: this.#rules.others, reason: null });
  }

  /** Writes the counted repeats. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const all = [...this.#open.values()];
    this.#open.clear();
    this.#different.clear();
    for (const { tenant, entry, count } of all) if (count > 0) this.#write(tenant, { ...entry, count });
  }
}

function count(repeated: Repeated, entry: OperationEntry): void {
  repeated.entry = entry;
  repeated.count += 1;
}
