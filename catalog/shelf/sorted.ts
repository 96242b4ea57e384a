/** A sorted source, a page at a time: a wait for each item would cost more than the item. */
export type Sorted<T> = AsyncGenerator<readonly T[], void, undefined>;

/** Sorted sources as one. Of equal items that of the earlier source comes first. */
export async function* merged<T extends object>(
  sources: readonly Sorted<T>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T, void, undefined> {
  const heads = await Promise.all(sources.map((source) => Head.of(source)));
  for (;;) {
    let first: Head<T> | undefined;
    for (const head of heads) {
      if (head.item === undefined) continue;
      if (first?.item === undefined || isBefore(head.item, first.item)) first = head;
    }
    if (first?.item === undefined) return;
    yield first.item;
    if (!first.step()) await first.turn();
  }
}

/** What comes next in a source. */
class Head<T extends object> {
  readonly #source: Sorted<T>;
  #page: readonly T[] = [];
  #at = 0;

  constructor(source: Sorted<T>) {
    this.#source = source;
  }

  static async of<T extends object>(source: Sorted<T>): Promise<Head<T>> {
    const head = new Head(source);
    await head.turn();
    return head;
  }

  /** Undefined at the end. */
  get item(): T | undefined {
    return this.#page[this.#at];
  }

  /** To the next item of the page; false when there is none. */
  step(): boolean {
    this.#at += 1;
    return this.#at < this.#page.length;
  }

  /** To the next page that holds anything, or the end. */
  async turn(): Promise<void> {
    this.#at = 0;
    do {
      const { value, done } = await this.#source.next();
      this.#page = value ?? [];
      if (done === true) return;
    } while (this.#page.length === 0);
  }
}

/** All of a source that is read in pages of `size`, each row as `shown` has it: one item or none. */
export async function* pagesOf<Row, T>(
  size: number,
  read: (skip: number) => Promise<readonly Row[]>,
  shown: (row: Row) => readonly T[],
): Sorted<T> {
  for (let skip = 0; ; skip += size) {
    const page = await read(skip);
    yield page.flatMap(shown);
    if (page.length < size) return;
  }
}
