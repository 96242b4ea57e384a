/** A sorted source, a page at a time: a wait for each item would cost more than the item. */
export type Sorted<T> = AsyncGenerator<readonly T[], void, undefined>;

/** Sorted sources as one, in runs as they come. Of equal items that of the earlier source comes first. */
export async function* merged<T extends object>(
  sources: readonly Sorted<T>[],
  isBefore: (a: T, b: T) => boolean,
): Sorted<T> {
  let heads = await Promise.all(sources.map((source) => Head.of(source)));
  for (;;) {
    heads = heads.filter((head) => head.item !== undefined);
    const [only, second] = heads;
    if (only === undefined) return;
    const run = second === undefined ? only.rest() : runOf(heads, isBefore);
    yield run;
    for (const head of heads) if (head.item === undefined) await head.turn();
  }
}

/** What can be told without reading on: until one of the pages is used up. */
function runOf<T extends object>(heads: readonly Head<T>[], isBefore: (a: T, b: T) => boolean): T[] {
  const run: T[] = [];
  for (;;) {
    let first: Head<T> | undefined;
    for (const head of heads) {
      if (head.item === undefined) return run;
      if (first?.item === undefined || isBefore(head.item, first.item)) first = head;
    }
    if (first?.item === undefined) return run;
    run.push(first.item);
    first.step();
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

  /** Undefined behind the last one of the page, and at the end. */
  get item(): T | undefined {
    return this.#page[this.#at];
  }

  step(): void {
    this.#at += 1;
  }

  /** All that is left of the page. */
  rest(): readonly T[] {
    const rest = this.#at === 0 ? this.#page : this.#page.slice(this.#at);
    this.#at = this.#page.length;
    return rest;
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

/** All of a source that is read in pages of `size`, each behind the last item of the one before. */
export async function* pagesOf<T>(size: number, read: (last: T | undefined) => Promise<readonly T[]>): Sorted<T> {
  for (let last: T | undefined; ; ) {
    const page = await read(last);
    yield page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}
