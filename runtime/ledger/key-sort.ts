/** Keys of a bucket that insertion sorts as quickly as the sort of the language, or quicker. */
const MOST_INSERTED = 24;
/** Keys that a bucket has on average, when hashes are spread evenly. */
const KEYS_A_BUCKET = 2;

/**
 * Sorts whole numbers below 2 to the power of `bits` whose upper bits are spread evenly, as those of hashes are: one pass puts them into
 * buckets by their upper bits, and a bucket has few. Its memory is used again, so a sorted part is valid until the next sort.
 */
export class KeySorter {
  #counts = new Uint32Array(0);
  #sorted = new Float64Array(0);

  /** Sorts the first `count` values into memory of its own. */
  sort(values: Float64Array, count: number, bits: number): Float64Array {
    let size = 256;
    while (size * KEYS_A_BUCKET < count) size *= 2;
    if (this.#sorted.length < count) this.#sorted = new Float64Array(values.length);
    if (this.#counts.length < size + 1) this.#counts = new Uint32Array(size + 1);
    const ends = this.#counts.fill(0, 0, size + 1);
    const sorted = this.#sorted;
    const scale = size / 2 ** bits;
    for (let at = 0; at < count; at += 1) {
      const bucket = ((values[at] ?? 0) * scale) >>> 0;
      ends[bucket] = (ends[bucket] ?? 0) + 1;
    }
    let before = 0;
    for (let bucket = 0; bucket < size; bucket += 1) {
      const many = ends[bucket] ?? 0;
      ends[bucket] = before;
      before += many;
    }
    for (let at = 0; at < count; at += 1) {
      const value = values[at] ?? 0;
      const bucket = (value * scale) >>> 0;
      const to = ends[bucket] ?? 0;
      sorted[to] = value;
      ends[bucket] = to + 1;
    }
    for (let bucket = 0, from = 0; bucket < size; bucket += 1) {
      const to = ends[bucket] ?? 0;
      if (to - from > 1) sortPart(sorted, from, to);
      from = to;
    }
    return sorted.subarray(0, count);
  }
}

function sortPart(values: Float64Array, from: number, to: number): void {
  if (to - from > MOST_INSERTED) {
    values.subarray(from, to).sort();
    return;
  }
  for (let at = from + 1; at < to; at += 1) {
    const value = values[at] ?? 0;
    let free = at;
    for (; free > from && (values[free - 1] ?? 0) > value; free -= 1) values[free] = values[free - 1] ?? 0;
    values[free] = value;
  }
}
