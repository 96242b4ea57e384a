/** What waits for a place: one line for each tenant, first in, first out, and the tenants in turn. */
export class FairLine<T> {
  /** The tenant whose turn is next comes first. */
  readonly #lines = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, new Set([item]));
    else line.add(item);
    this.#size += 1;
  }

  /** The next of the first tenant that may have a place; undefined: none may, or none waits. */
  take(mayTake: (item: T) => boolean = () => true): T | undefined {
    for (const [tenant, line] of this.#lines) {
      const [item] = line;
      if (item === undefined || !mayTake(item)) continue;
      this.delete(tenant, item);
      if (!this.#lines.delete(tenant)) return item;
      this.#lines.set(tenant, line);
      return item;
    }
    return undefined;
  }

  /** It does not wait any more. */
  delete(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    if (line?.delete(item) !== true) return;
    this.#size -= 1;
    if (line.size === 0) this.#lines.delete(tenant);
  }
}
