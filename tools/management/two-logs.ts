/** One entry of a log (svc.agent.logs). */
export interface Entry {
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** ISO 8601, so that text order is time order. */
  readonly recorded_at: string;
}

/** Entries newest first, read by place. */
export interface Descending {
  readonly total: number;
  /** At least one and at most `limit` entries from place `skip` on; only asked for what is there. */
  read(skip: number, limit: number): Promise<readonly Entry[]>;
}

/**
 * A page of two logs put together, newest first; of two at one time the first log's comes first. How many of each are before
 * the page is found by halving, so its cost does not grow with `offset`.
 */
export async function newestOfTwo(
  first: Descending,
  second: Descending,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<readonly Entry[]> {
  if (offset >= first.total + second.total) return [];
  let low = Math.max(0, offset - second.total);
  let high = Math.min(first.total, offset);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [[one], [other]] = await Promise.all([first.read(middle, 1), second.read(offset - middle - 1, 1)]);
    // Gone meanwhile: the page is that of what is there now.
    if (one === undefined || other === undefined) break;
    if (one.recorded_at >= other.recorded_at) low = middle + 1;
    else high = middle;
  }
  const [ones, others] = await Promise.all([from(first, low, limit), from(second, offset - low, limit)]);
  return merged(ones, others, limit);
}

const from = async (log: Descending, skip: number, limit: number): Promise<readonly Entry[]> =>
  skip < log.total ? log.read(skip, limit) : [];

function merged(ones: readonly Entry[], others: readonly Entry[], limit: number): readonly Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  let behind = 0;
  while (entries.length < limit) {
    const one = ones[at];
    const other = others[behind];
    const isOne = one !== undefined && (other === undefined || one.recorded_at >= other.recorded_at);
    const next = isOne ? one : other;
    if (next === undefined) break;
    entries.push(next);
    if (isOne) at += 1;
    else behind += 1;
  }
  return entries;
}
