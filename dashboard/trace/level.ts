import { OUTCOMES } from './batch.ts';
import { type Camera, scaleOf } from './camera.ts';
import { firstFrom } from './layout.ts';
import type { TraceModel } from './model.ts';

/** Deliveries narrower than this are merged into a bar of density. */
const LEAST_PX = 2;

/** Priority of an outcome where several share a pixel. */
const WEIGHT: readonly number[] = OUTCOMES.map((outcome) =>
  ['unknown', 'done', 'stale', 'deferred', 'retried', 'refused', 'dead-lettered'].indexOf(outcome),
);

const heavier = (left: number, right: number): number => ((WEIGHT[left] ?? 0) >= (WEIGHT[right] ?? 0) ? left : right);

/** Bars of one row in pixels. Kept from frame to frame, so that drawing allocates nothing. */
export class Bars {
  readonly left: Float32Array;
  readonly width: Float32Array;
  readonly outcome: Uint8Array;
  /** Deliveries in the bar. */
  readonly count: Uint32Array;
  /** The delivery, or the first one of the bar. */
  readonly delivery: Uint32Array;
  length = 0;

  constructor(most: number) {
    this.left = new Float32Array(most);
    this.width = new Float32Array(most);
    this.outcome = new Uint8Array(most);
    this.count = new Uint32Array(most);
    this.delivery = new Uint32Array(most);
  }

  push(left: number, width: number, outcome: number, delivery: number): void {
    if (this.length >= this.left.length) return;
    this.left[this.length] = left;
    this.width[this.length] = width;
    this.outcome[this.length] = outcome;
    this.count[this.length] = 1;
    this.delivery[this.length] = delivery;
    this.length += 1;
  }

  /** Puts one more delivery into the last bar. */
  merge(outcome: number): void {
    const last = this.length - 1;
    this.outcome[last] = heavier(this.outcome[last] ?? 0, outcome);
    this.count[last] = (this.count[last] ?? 0) + 1;
  }

  /** Makes the last bar reach to a pixel. */
  reach(right: number): void {
    const last = this.length - 1;
    this.width[last] = Math.max(this.width[last] ?? 0, right - (this.left[last] ?? 0));
  }

  get right(): number {
    const last = this.length - 1;
    return last < 0 ? Number.NEGATIVE_INFINITY : (this.left[last] ?? 0) + (this.width[last] ?? 0);
  }
}

/**
 * Bars of the turns of one lane, and of the waits before them. Deliveries narrower than two pixels are merged with their
 * neighbours on the same pixels, so a lane has at most about half as many bars as pixels, however many deliveries it has.
 */
export function barsOfLane(
  model: TraceModel,
  lane: number,
  camera: Camera,
  shown: Uint8Array | null,
  { turns, waits }: { readonly turns: Bars; readonly waits: Bars },
): void {
  turns.length = 0;
  waits.length = 0;
  const { starts, items } = model.lanes;
  const scale = scaleOf(camera);
  const end = starts[lane + 1] ?? 0;
  const timeOf = (one: number): number => model.time.at(one);
  const begin = firstFrom(items, starts[lane] ?? 0, end, timeOf, camera.from - model.longestOf(lane));
  for (let at = begin; at < end; at += 1) {
    const delivery = items[at] ?? 0;
    if (shown !== null && shown[delivery] !== 1) continue;
    const left = (model.time.at(delivery) - camera.from) * scale;
    if (left > camera.width) break;
    const wait = model.wait.at(delivery) * scale;
    const turn = model.turn.at(delivery) * scale;
    if (left + wait + turn < -LEAST_PX) continue;
    const outcome = model.outcome.at(delivery);
    if (wait >= LEAST_PX) {
      if (left <= waits.right) waits.reach(left + wait);
      else waits.push(left, wait, outcome, delivery);
    }
    const begins = left + wait;
    if (turn >= LEAST_PX) turns.push(begins, turn, outcome, delivery);
    else {
      const column = Math.floor(begins / LEAST_PX) * LEAST_PX;
      const last = turns.length - 1;
      const isSame = last >= 0 && turns.left[last] === column && turns.width[last] === LEAST_PX;
      if (isSame) turns.merge(outcome);
      else turns.push(column, LEAST_PX, outcome, delivery);
    }
  }
}

/** Deliveries by column of some pixels: how many, and the outcome that matters most. */
export class Density {
  readonly counts: Uint32Array;
  readonly outcomes: Uint8Array;
  readonly columnPx: number;
  most = 0;

  constructor(columns: number, columnPx: number) {
    this.counts = new Uint32Array(columns);
    this.outcomes = new Uint8Array(columns);
    this.columnPx = columnPx;
  }

  /** Counts the visible ones of the ordered deliveries `items[begin]` to `items[end - 1]`, by the start of their turns. */
  count(model: TraceModel, items: Uint32Array, begin: number, end: number, camera: Camera): void {
    const columns = Math.min(this.counts.length, Math.ceil(camera.width / this.columnPx));
    this.counts.fill(0);
    this.most = 0;
    const scale = scaleOf(camera) / this.columnPx;
    const first = firstFrom(items, begin, end, (one) => model.time.at(one), camera.from);
    for (let at = first; at < end; at += 1) {
      const delivery = items[at] ?? 0;
      const column = Math.floor((model.time.at(delivery) - camera.from) * scale);
      if (column >= columns) break;
      const before = this.counts[column] ?? 0;
      const outcome = model.outcome.at(delivery);
      this.counts[column] = before + 1;
      this.outcomes[column] = before === 0 ? outcome : heavier(this.outcomes[column] ?? 0, outcome);
      if (before + 1 > this.most) this.most = before + 1;
    }
  }
}
