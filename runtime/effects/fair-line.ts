import type { Flow } from './flow.ts';

/** What waits for a place: a line for each flow, first in, first out; tenants in turn, and in each the flows in turn. */
export class FairLine<T> {
  /** The tenant whose turn is next comes first, and so the key in it. */
  readonly #tenants = new Map<string, Map<string, Set<T>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether something of this flow waits. */
  has({ tenant, key }: Flow): boolean {
    return this.#tenants.get(tenant)?.has(key) === true;
  }

  add({ tenant, key }: Flow, item: T): void {
    const lines = entryOf(this.#tenants, tenant, () => new Map<string, Set<T>>());
    entryOf(lines, key, () => new Set<T>()).add(item);
    this.#size += 1;
  }

  /** The next of the first flow that may have a place; undefined: none may, or none waits. */
  take(mayTake: (item: T) => boolean = () => true): T | undefined {
    for (const [tenant, lines] of this.#tenants) {
      for (const [key, line] of lines) {
        const [item] = line;
        if (item === undefined || !mayTake(item)) continue;
        this.delete({ tenant, key }, item);
        toTheEnd(lines, key);
        toTheEnd(this.#tenants, tenant);
        return item;
      }
    }
    return undefined;
  }

  /** It does not wait any more. */
  delete({ tenant, key }: Flow, item: T): void {
    const lines = this.#tenants.get(tenant);
    const line = lines?.get(key);
    if (lines === undefined || line?.delete(item) !== true) return;
    this.#size -= 1;
    if (line.size === 0) lines.delete(key);
    if (lines.size === 0) this.#tenants.delete(tenant);
  }
}

function entryOf<V>(map: Map<string, V>, name: string, make: () => V): V {
  let found = map.get(name);
  if (found === undefined) {
    found = make();
    map.set(name, found);
  }
  return found;
}

/** Its turn was now. */
function toTheEnd<V>(map: Map<string, V>, name: string): void {
  const value = map.get(name);
  if (value === undefined || !map.delete(name)) return;
  map.set(name, value);
}
