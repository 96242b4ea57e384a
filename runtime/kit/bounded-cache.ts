/** Keeps values up to a total size: their bytes, or their number. The values used least recently leave first. */
export class BoundedCache<Key, Value> {
  readonly #most: number;
  readonly #values = new Map<Key, { readonly value: Value; readonly size: number }>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key): Value | undefined {
    const found = this.#values.get(key);
    if (found === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, found);
    return found.value;
  }

  put(key: Key, value: Value, size = 1): void {
    this.delete(key);
    if (size > this.#most) return;
    this.#values.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#values.keys()) {
      if (this.#size <= this.#most) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const found = this.#values.get(key);
    if (found === undefined) return;
    this.#values.delete(key);
    this.#size -= found.size;
  }

  clear(): void {
    this.#values.clear();
    this.#size = 0;
  }
}
