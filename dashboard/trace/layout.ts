import { grouped } from './grouped.ts';
import type { TraceModel } from './model.ts';
import { kindOf } from './selection.ts';

export const GROUP_PX = 22;
export const LANE_PX = 20;
/** Additional height below the bars of a lane that has effects. */
const EFFECTS_PX = 14;
/** Groups with more lanes are folded at first. */
const MOST_OPEN_LANES = 100;

export type GroupBy = 'kind' | 'node';

interface LayoutOptions {
  readonly by: GroupBy;
  /** Groups that the user folded or opened, in contrast to their initial state. */
  readonly toggled: ReadonlySet<string>;
  readonly shown: Uint8Array | null;
}

interface Group {
  readonly name: string;
  readonly lanes: number;
  readonly deliveries: number;
  readonly isFolded: boolean;
}

/** Rows from top to bottom: a group, then its lanes unless it is folded. Row `r` reaches from `tops[r]` to `tops[r + 1]`. */
export interface Layout {
  readonly groups: readonly Group[];
  /** Of each row: its lane, or `-1 - group`. */
  readonly rows: Int32Array;
  readonly tops: Float64Array;
  /** Row of each lane, or that of its folded group; -1 when it is not shown. */
  readonly rowOfLane: Int32Array;
  /** Shown deliveries of group `g` by time: `items[starts[g]]` and on. */
  readonly starts: Uint32Array;
  readonly items: Uint32Array;
  readonly height: number;
}

/** Places lanes by group, groups and lanes by their first delivery, so that causes are above their effects. */
export function layOut(model: TraceModel, { by, toggled, shown }: LayoutOptions): Layout {
  const { starts, items } = model.lanes;
  const lanes = model.names.length;
  const firstAt = new Float64Array(lanes).fill(Number.NaN);
  const names: string[] = [];
  const numbers = new Map<string, number>();
  const groupOfLane = new Int32Array(lanes).fill(-1);
  const shownLanes: number[] = [];
  for (let lane = 0; lane < lanes; lane += 1) {
    const [begin, end] = [starts[lane] ?? 0, starts[lane + 1] ?? 0];
    let first = begin;
    while (shown !== null && first < end && shown[items[first] ?? 0] !== 1) first += 1;
    if (first >= end) continue;
    firstAt[lane] = model.time.at(items[first] ?? 0);
    shownLanes.push(lane);
  }
  const byTime = (a: number, b: number): number => (firstAt[a] ?? 0) - (firstAt[b] ?? 0) || a - b;
  const members: number[][] = [];
  for (const lane of shownLanes.sort(byTime)) {
    const name = groupNameOf(model, lane, by, items[(starts[lane + 1] ?? 1) - 1] ?? 0);
    const group = numbers.get(name) ?? names.push(name) - 1;
    numbers.set(name, group);
    groupOfLane[lane] = group;
    members[group] ??= [];
    members[group]?.push(lane);
  }
  const order = grouped(
    model.count,
    names.length,
    (one) => (shown !== null && shown[one] !== 1 ? -1 : (groupOfLane[model.to.at(one)] ?? -1)),
    (one) => model.time.at(one),
  );
  const groups = names.map((name, group): Group => {
    const count = members[group]?.length ?? 0;
    return {
      name,
      lanes: count,
      deliveries: (order.starts[group + 1] ?? 0) - (order.starts[group] ?? 0),
      isFolded: count > MOST_OPEN_LANES !== toggled.has(name),
    };
  });
  return { groups, ...order, ...rowsOf(model, groups, members) };
}

function groupNameOf(model: TraceModel, lane: number, by: GroupBy, lastDelivery: number): string {
  if (by === 'node') return model.name(model.node.at(lastDelivery)) ?? 'unknown node';
  return kindOf(model.name(lane) ?? '');
}

function rowsOf(model: TraceModel, groups: readonly Group[], members: readonly (readonly number[])[]) {
  const length = groups.reduce((sum, { lanes, isFolded }) => sum + 1 + (isFolded ? 0 : lanes), 0);
  const rows = new Int32Array(length);
  const tops = new Float64Array(length + 1);
  const rowOfLane = new Int32Array(model.names.length).fill(-1);
  const { starts } = model.effectLanes;
  let row = 0;
  let top = 0;
  const add = (content: number, height: number): void => {
    rows[row] = content;
    tops[row] = top;
    top += height;
    row += 1;
  };
  for (const [group, { isFolded }] of groups.entries()) {
    const own = row;
    add(-1 - group, GROUP_PX);
    for (const lane of members[group] ?? []) {
      rowOfLane[lane] = isFolded ? own : row;
      if (isFolded) continue;
      const hasEffects = (starts[lane + 1] ?? 0) > (starts[lane] ?? 0);
      add(lane, LANE_PX + (hasEffects ? EFFECTS_PX : 0));
    }
  }
  tops[length] = top;
  return { rows, tops, rowOfLane, height: top };
}

/** The row at a height; the last one below all, -1 when there is none. */
export function rowAt({ tops }: Pick<Layout, 'tops'>, y: number): number {
  let low = 0;
  let high = tops.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return high < 0 ? -1 : low;
}

/** The first index from `begin` to `end` of ordered items whose time is at or after a moment. */
export function firstFrom(
  items: Uint32Array,
  begin: number,
  end: number,
  timeOf: (one: number) => number,
  moment: number,
): number {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeOf(items[middle] ?? 0) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
