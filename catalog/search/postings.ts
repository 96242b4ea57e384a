/** Where a stem stands in an entry, as bits. */
export const FIELDS = { name: 1, description: 2, labels: 4, instruction: 8 } as const;
export type Field = keyof typeof FIELDS;

const MASK_BITS = 4;
const MASK = (1 << MASK_BITS) - 1;
/** Lists are made anew when more than this share of the slots is dead. */
const MAX_DEAD_SHARE = 0.25;
const MIN_DEAD = 1_000;

interface List {
  /** `slot << 4 | fields`. */
  cells: Uint32Array;
  length: number;
}

/**
 * Which entries hold a stem, and in which of their fields: an inverted index, 4 bytes for each stem of an entry. Entries
 * are slots, small numbers that are used again once nothing points to them any more.
 */
export class Postings {
  readonly #lists = new Map<string, List>();
  readonly #dead = new Set<number>();
  readonly #free: number[] = [];
  #slots = 0;

  /** One more than the highest slot. */
  get slots(): number {
    return this.#slots;
  }

  get stems(): number {
    return this.#lists.size;
  }

  has(stem: string): boolean {
    return this.#lists.has(stem);
  }

  /** In how many entries it is; those removed a moment ago may count still. */
  frequency(stem: string): number {
    return this.#lists.get(stem)?.length ?? 0;
  }

  /** Answers the slot and tells of every stem that was not there before. */
  add(stems: ReadonlyMap<string, number>, onNew: (stem: string) => void): number {
    const slot = this.#free.pop() ?? this.#slots++;
    for (const [stem, mask] of stems) {
      let list = this.#lists.get(stem);
      if (list === undefined) {
        list = { cells: new Uint32Array(2), length: 0 };
        this.#lists.set(stem, list);
        onNew(stem);
      }
      if (list.length === list.cells.length) list.cells = grown(list.cells);
      list.cells[list.length] = (slot << MASK_BITS) | mask;
      list.length += 1;
    }
    return slot;
  }

  remove(slot: number): void {
    this.#dead.add(slot);
    if (this.#dead.size > MIN_DEAD && this.#dead.size > this.#slots * MAX_DEAD_SHARE) this.#sweep();
  }

  /** Calls back for each entry that holds the stem. Removed ones may be among them. */
  each(stem: string, call: (slot: number, mask: number) => void): void {
    const list = this.#lists.get(stem);
    if (list === undefined) return;
    for (let at = 0; at < list.length; at += 1) {
      const cell = list.cells[at] ?? 0;
      call(cell >>> MASK_BITS, cell & MASK);
    }
  }

  #sweep(): void {
    for (const list of this.#lists.values()) {
      let kept = 0;
      for (let at = 0; at < list.length; at += 1) {
        const cell = list.cells[at] ?? 0;
        if (this.#dead.has(cell >>> MASK_BITS)) continue;
        list.cells[kept] = cell;
        kept += 1;
      }
      list.length = kept;
    }
    this.#free.push(...this.#dead);
    this.#dead.clear();
  }
}

function grown(cells: Uint32Array): Uint32Array {
  const more = new Uint32Array(cells.length * 2);
  more.set(cells);
  return more;
}
