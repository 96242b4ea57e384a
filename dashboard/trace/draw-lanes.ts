import { xOf } from './camera.ts';
import { GROUP_PX, LANE_PX, rowAt } from './layout.ts';
import { Bars, barsOfLane, Density } from './level.ts';
import type { Palette } from './palette.ts';
import { BAR_PX, BAR_TOP, type Scene, TOP_PX } from './scene.ts';
import { drawCut } from './texts.ts';

const COLUMN_PX = 2;
/** Marks of one kind that are closer than this are merged. */
const MARK_APART_PX = 7;

const buffers = { turns: new Bars(8_192), waits: new Bars(8_192) };
const density = new Density(4_096, COLUMN_PX);

/** The visible rows, from the top. */
export function drawRows(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, camera, height, width, gutter, palette } = scene;
  const first = rowAt(layout, camera.scroll);
  if (first === -1) return;
  for (let row = first; row < layout.rows.length; row += 1) {
    const top = TOP_PX + (layout.tops[row] ?? 0) - camera.scroll;
    if (top > height) break;
    const content = layout.rows[row] ?? 0;
    if (content < 0) {
      context.fillStyle = palette.of.raised;
      context.fillRect(0, top, width, GROUP_PX);
      drawGroupDensity(context, scene, -1 - content, top);
      continue;
    }
    drawLane(context, scene, content, top);
    context.fillStyle = palette.of.line;
    context.globalAlpha = 0.5;
    const bottom = TOP_PX + (layout.tops[row + 1] ?? 0) - camera.scroll;
    context.fillRect(gutter, bottom - 1, width - gutter, 1);
    context.globalAlpha = 1;
  }
}

/** A group as one row: the more deliveries a column has, the higher it is. */
function drawGroupDensity(context: CanvasRenderingContext2D, scene: Scene, group: number, top: number): void {
  const { model, layout, camera, isDimmed } = scene;
  const isFolded = layout.groups[group]?.isFolded === true;
  density.count(model, layout.items, layout.starts[group] ?? 0, layout.starts[group + 1] ?? 0, camera);
  context.globalAlpha = isDimmed ? 0.25 : isFolded ? 0.85 : 0.3;
  drawColumns(context, scene, density, { bottom: top + GROUP_PX - 3, height: GROUP_PX - 6 });
  context.globalAlpha = 1;
}

/** Columns of density; failures are a coloured foot of their column, because they are few. */
export function drawColumns(
  context: CanvasRenderingContext2D,
  { gutter, camera, palette }: Scene,
  { counts, outcomes, columnPx, most }: Density,
  { bottom, height }: { readonly bottom: number; readonly height: number },
): void {
  const columns = Math.ceil(camera.width / columnPx);
  const scale = height / Math.log2(most + 1);
  for (let column = 0; column < columns; column += 1) {
    const count = counts[column] ?? 0;
    if (count === 0) continue;
    const size = Math.max(3, Math.round(Math.log2(count + 1) * scale));
    const outcome = outcomes[column] ?? 0;
    const foot = outcome === 0 ? 0 : count === 1 ? size : Math.max(2, Math.round(height / 5));
    const x = gutter + column * columnPx;
    context.fillStyle = palette.of.accent;
    context.fillRect(x, bottom - size, columnPx, size - foot);
    if (foot === 0) continue;
    context.fillStyle = palette.outcomes[outcome] ?? palette.of.idle;
    context.fillRect(x, bottom - foot, columnPx, foot);
  }
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, lane: number, top: number): void {
  const { model, camera, shown, palette, isDimmed } = scene;
  barsOfLane(model, lane, camera, shown, buffers);
  const { turns, waits } = buffers;
  const strength = isDimmed ? 0.28 : 1;
  context.fillStyle = palette.of.idle;
  context.globalAlpha = 0.38 * strength;
  for (let at = 0; at < waits.length; at += 1) {
    const [left, right] = clipped(scene, waits.left[at] ?? 0, waits.width[at] ?? 0);
    context.fillRect(left, top + LANE_PX / 2 - 2, right - left, 4);
  }
  for (let at = 0; at < turns.length; at += 1) {
    const count = turns.count[at] ?? 1;
    const outcome = turns.outcome[at] ?? 0;
    const [left, right] = clipped(scene, turns.left[at] ?? 0, turns.width[at] ?? 0);
    context.globalAlpha = strength * (count === 1 ? 0.8 : 1);
    context.fillStyle = palette.outcomes[outcome] ?? palette.of.idle;
    context.fillRect(left, top + BAR_TOP, Math.max(COLUMN_PX, right - left), BAR_PX);
    if (right - left > 44 && count === 1) {
      const name = model.name(model.type.at(turns.delivery[at] ?? 0)) ?? '';
      context.fillStyle = palette.onBar;
      drawCut(context, name, {
        x: left + 5,
        y: top + LANE_PX / 2,
        width: right - left - 10,
        font: `11px ${palette.font}`,
      });
    }
  }
  context.globalAlpha = strength;
  drawMarks(context, scene, turns, top);
  drawEffects(context, scene, lane, top + LANE_PX - 1);
  context.globalAlpha = 1;
}

function clipped({ gutter, width }: Scene, left: number, size: number): readonly [number, number] {
  const begin = Math.max(gutter, Math.round(gutter + left));
  return [begin, Math.min(width, Math.max(begin, Math.round(gutter + left + size)))];
}

/** Shapes above bars: failures differ in shape as well as in colour. */
function drawMarks(context: CanvasRenderingContext2D, scene: Scene, turns: Bars, top: number): void {
  const { model, gutter, palette } = scene;
  let last = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < turns.length; at += 1) {
    const x = Math.round(gutter + (turns.left[at] ?? 0)) + 1;
    const delivery = turns.delivery[at] ?? 0;
    const outcome = turns.outcome[at] ?? 0;
    const isTakeover = model.takeover.at(delivery) === 1;
    if (x < gutter || (outcome === 0 && !isTakeover) || x - last < MARK_APART_PX) continue;
    const shape = isTakeover ? 'takeover' : (SHAPES[outcome] ?? null);
    if (shape === null) continue;
    last = x;
    drawMark(context, palette, shape, x, top + BAR_TOP);
  }
}

type Mark = 'takeover' | 'retried' | 'refused' | 'dead-lettered';

/** By the number of an outcome. */
const SHAPES: readonly (Mark | null)[] = [null, 'refused', 'retried', null, null, 'dead-lettered', null];

/** Diamond: a takeover; ring: tried again; square: refused; triangle: a dead letter. */
function drawMark(context: CanvasRenderingContext2D, { of }: Palette, mark: Mark, x: number, y: number): void {
  context.beginPath();
  if (mark === 'takeover') {
    context.moveTo(x, y - 4);
    context.lineTo(x + 4, y);
    context.lineTo(x, y + 4);
    context.lineTo(x - 4, y);
    context.closePath();
    context.fillStyle = of.text;
  } else if (mark === 'dead-lettered') {
    context.moveTo(x, y - 3);
    context.lineTo(x + 5, y + 5);
    context.lineTo(x - 5, y + 5);
    context.closePath();
    context.fillStyle = of.bad;
  } else if (mark === 'refused') {
    context.rect(x - 3, y - 3, 6, 6);
    context.fillStyle = of.bad;
  } else {
    context.arc(x, y, 3, 0, Math.PI * 2);
    context.fillStyle = of.surface;
  }
  context.fill();
  context.strokeStyle = mark === 'retried' ? of.waits : of.surface;
  context.lineWidth = mark === 'retried' ? 2 : 1;
  context.stroke();
}

/** Effects as spans below the bars; merged where they are narrower than a pixel. */
function drawEffects(context: CanvasRenderingContext2D, scene: Scene, lane: number, top: number): void {
  const { model, camera, gutter, width, palette, isDimmed } = scene;
  const { starts, items } = model.effectLanes;
  let drawn = Number.NEGATIVE_INFINITY;
  for (let at = starts[lane] ?? 0; at < (starts[lane + 1] ?? 0); at += 1) {
    const effect = items[at] ?? 0;
    const left = gutter + xOf(camera, model.effectStart(effect));
    if (left > width) break;
    const right = gutter + xOf(camera, model.effectEnd(effect));
    if (right < gutter || right <= drawn) continue;
    const begin = Math.max(gutter, Math.round(left), Math.min(drawn, Math.round(right) - 1));
    const end = Math.min(width, Math.max(begin + 1, Math.round(right)));
    drawn = end;
    const outcome = model.effects.outcome.at(effect);
    const colour = outcome === 0 ? palette.of.good : outcome === 1 ? palette.of.bad : palette.of.waits;
    context.fillStyle = colour;
    context.globalAlpha = isDimmed ? 0.1 : 0.22;
    context.fillRect(begin, top, end - begin, 11);
    context.globalAlpha = isDimmed ? 0.3 : 1;
    context.fillRect(begin, top, Math.min(2, end - begin), 11);
    if (Number.isNaN(model.effects.endedAt.at(effect))) {
      for (let x = end - 3; x > begin + 2 && x > end - 24; x -= 6) context.fillRect(x, top, 2, 11);
    }
    if (end - begin > 40) {
      const name = model.name(model.effects.kind.at(effect)) ?? 'effect';
      context.fillStyle = palette.of.text;
      drawCut(context, name, { x: begin + 6, y: top + 6, width: end - begin - 10, font: `10px ${palette.font}` });
    }
  }
}
