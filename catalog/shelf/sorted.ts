export type Sorted<T> = AsyncGenerator<T, void, undefined>;

/** Sorted sources as one. Of equal items that of the earlier source comes first. */
export async function* merged<T>(sources: readonly Sorted<T>[], isBefore: (a: T, b: T) => boolean): Sorted<T> {
  const heads = await Promise.all(sources.map(async (source) => ({ source, next: await source.next() })));
  for (;;) {
    let first: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.next.done === true) continue;
      const least = first?.next;
      if (least === undefined || least.done === true || isBefore(head.next.value, least.value)) first = head;
    }
    if (first === undefined || first.next.done === true) return;
    yield first.next.value;
    first.next = await first.source.next();
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
    for (const row of page) yield* shown(row);
    if (page.length < size) return;
  }
}
