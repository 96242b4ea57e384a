import { type Camera, type Extent, timeAt, xOf } from './camera.ts';
import { firstFrom, GROUP_PX, LANE_PX, type Layout, rowAt } from './layout.ts';
import type { Density } from './level.ts';
import type { TraceModel } from './model.ts';
import type { Palette } from './palette.ts';
import type { RunNames } from './selection.ts';

export const MINIMAP_PX = 40;
export const RULER_PX = 24;
/** Offset of the lanes. */
export const TOP_PX = MINIMAP_PX + RULER_PX;
/** The bar of a turn in its lane. */
export const BAR_TOP = 3;
export const BAR_PX = LANE_PX - 2 * BAR_TOP;
/** Distance at which the pointer still selects a delivery. */
const NEAR_PX = 5;

/** Input of one picture. */
export interface Scene {
  readonly model: TraceModel;
  readonly layout: Layout;
  readonly camera: Camera;
  readonly palette: Palette;
  /** Pixels of the canvas; the names of lanes take `gutter` of the width. */
  readonly width: number;
  readonly height: number;
  readonly gutter: number;
  readonly extent: Extent;
  readonly shown: Uint8Array | null;
  readonly minimap: Density;
  /** Deliveries; -1 for none. */
  readonly selected: number;
  readonly arrows: Uint32Array;
  /** Draws everything faintly except the targets of the arrows. */
  readonly isDimmed: boolean;
  readonly hits: Uint32Array;
  readonly runNames: RunNames;
  readonly hovered: Found | null;
  /** Position of the pointer, for the label beside it. */
  readonly pointer: { readonly x: number; readonly y: number } | null;
}

/** What is under the pointer. */
export type Found =
  | { readonly kind: 'delivery'; readonly delivery: number; readonly others: number }
  | { readonly kind: 'effect'; readonly effect: number }
  | { readonly kind: 'group'; readonly group: number; readonly deliveries: number }
  | { readonly kind: 'lane'; readonly lane: number }
  | { readonly kind: 'minimap' };

export const minimapCamera = ({ camera, extent }: Pick<Scene, 'camera' | 'extent'>): Camera => ({
  ...camera,
  from: extent.from,
  to: Math.max(extent.to, extent.from + 1),
});

/** Middle of the bar of a delivery's lane, or of the group that it is folded into; NaN when it is not shown. */
export function middleOf({ layout, camera, model }: Scene, delivery: number): number {
  const row = layout.rowOfLane[model.to.at(delivery)] ?? -1;
  if (row === -1) return Number.NaN;
  const isGroup = (layout.rows[row] ?? 0) < 0;
  return TOP_PX + (layout.tops[row] ?? 0) - camera.scroll + (isGroup ? GROUP_PX : LANE_PX) / 2;
}

export function find(scene: Scene, x: number, y: number): Found | null {
  const { layout, camera, gutter } = scene;
  if (y < MINIMAP_PX) return x < gutter ? null : { kind: 'minimap' };
  if (y < TOP_PX) return null;
  const depth = y - TOP_PX + camera.scroll;
  const row = rowAt(layout, depth);
  if (row === -1 || depth >= layout.height) return null;
  const content = layout.rows[row] ?? 0;
  if (content < 0) return { kind: 'group', group: -1 - content, deliveries: inColumn(scene, -1 - content, x) };
  if (x < gutter) return { kind: 'lane', lane: content };
  const inLane = depth - (layout.tops[row] ?? 0);
  const found = inLane >= LANE_PX ? findEffect(scene, content, x - gutter) : findDelivery(scene, content, x - gutter);
  return found ?? { kind: 'lane', lane: content };
}

function findDelivery({ model, camera, shown }: Scene, lane: number, x: number): Found | null {
  const { starts, items } = model.lanes;
  const end = starts[lane + 1] ?? 0;
  const timeOf = (one: number): number => model.time.at(one);
  const earliest = timeAt(camera, x - NEAR_PX) - model.longestOf(lane);
  const latest = timeAt(camera, x + NEAR_PX);
  let best = -1;
  let bestDistance = NEAR_PX;
  let others = -1;
  for (let at = firstFrom(items, starts[lane] ?? 0, end, timeOf, earliest); at < end; at += 1) {
    const delivery = items[at] ?? 0;
    if (timeOf(delivery) > latest) break;
    if (shown !== null && shown[delivery] !== 1) continue;
    const begin = xOf(camera, model.turnAt(delivery));
    const distance = Math.max(0, begin - x, x - Math.max(begin + 2, xOf(camera, model.endOf(delivery))));
    if (distance <= 1) others += 1;
    if (distance < bestDistance || (best === -1 && distance <= NEAR_PX)) {
      best = delivery;
      bestDistance = distance;
    }
  }
  if (best !== -1) return { kind: 'delivery', delivery: best, others: Math.max(0, others) };
  return findWaiting({ model, camera, shown }, lane, x);
}

/** The delivery whose wait is at a position of a lane. */
function findWaiting({ model, camera, shown }: Pick<Scene, 'model' | 'camera' | 'shown'>, lane: number, x: number) {
  const { starts, items } = model.lanes;
  const end = starts[lane + 1] ?? 0;
  const moment = timeAt(camera, x);
  const earliest = moment - model.longestOf(lane);
  for (let at = firstFrom(items, starts[lane] ?? 0, end, (one) => model.time.at(one), earliest); at < end; at += 1) {
    const delivery = items[at] ?? 0;
    if (model.time.at(delivery) > moment) break;
    if (model.turnAt(delivery) < moment || (shown !== null && shown[delivery] !== 1)) continue;
    return { kind: 'delivery', delivery, others: 0 } as const;
  }
  return null;
}

function findEffect({ model, camera }: Scene, lane: number, x: number): Found | null {
  const { starts, items } = model.effectLanes;
  let found: Found | null = null;
  for (let at = starts[lane] ?? 0; at < (starts[lane + 1] ?? 0); at += 1) {
    const effect = items[at] ?? 0;
    const left = xOf(camera, model.effectStart(effect));
    if (left > x + NEAR_PX) break;
    if (xOf(camera, model.effectEnd(effect)) >= x - 2) found = { kind: 'effect', effect };
  }
  return found;
}

/** Deliveries of a group near the pointer. */
function inColumn({ model, layout, camera, gutter }: Scene, group: number, x: number): number {
  const timeOf = (one: number): number => model.time.at(one);
  const [begin, end] = [layout.starts[group] ?? 0, layout.starts[group + 1] ?? 0];
  const first = firstFrom(layout.items, begin, end, timeOf, timeAt(camera, x - gutter - 2));
  return firstFrom(layout.items, first, end, timeOf, timeAt(camera, x - gutter + 2)) - first;
}
