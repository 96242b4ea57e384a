/** Deliveries grouped by a number: group `g` has `items[starts[g]]` to `items[starts[g + 1] - 1]`, by time. */
export interface Grouped {
  readonly starts: Uint32Array;
  readonly items: Uint32Array;
}

/** Numbers below `count` by group and, within it, by time. Those of group -1 are in none. */
export function grouped(
  count: number,
  groups: number,
  groupOf: (one: number) => number,
  timeOf: (one: number) => number,
): Grouped {
  const starts = new Uint32Array(groups + 1);
  for (let one = 0; one < count; one += 1) {
    const group = groupOf(one);
    if (group >= 0) starts[group + 1] = (starts[group + 1] ?? 0) + 1;
  }
  for (let group = 0; group < groups; group += 1) starts[group + 1] = (starts[group + 1] ?? 0) + (starts[group] ?? 0);
  const items = new Uint32Array(starts[groups] ?? 0);
  const next = starts.slice();
  const latest = new Float64Array(groups).fill(Number.NEGATIVE_INFINITY);
  const unordered = new Set<number>();
  for (let one = 0; one < count; one += 1) {
    const group = groupOf(one);
    if (group < 0) continue;
    const place = next[group] ?? 0;
    items[place] = one;
    next[group] = place + 1;
    const time = timeOf(one);
    if (time < (latest[group] ?? 0)) unordered.add(group);
    else latest[group] = time;
  }
  for (const group of unordered)
    items.subarray(starts[group], starts[group + 1]).sort((a, b) => timeOf(a) - timeOf(b) || a - b);
  return { starts, items };
}
