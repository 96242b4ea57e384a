import { counted, formatCount, formatDuration } from '../parts/format.ts';
import { ticksOf, tickText, xOf } from './camera.ts';
import { drawFlow, drawSelection } from './draw-flow.ts';
import { drawColumns, drawRows } from './draw-lanes.ts';
import { GROUP_PX, LANE_PX, rowAt } from './layout.ts';
import { MINIMAP_PX, minimapCamera, RULER_PX, type Scene, TOP_PX } from './scene.ts';
import { runNameOf } from './selection.ts';
import { drawCut } from './texts.ts';

/** Width of the shortened id to the right of a name. */
const ID_PX = 60;

/** Draws the whole picture in one pass. `ratio`: pixels of the screen for one of the page. */
export function draw(context: CanvasRenderingContext2D, scene: Scene, ratio: number): void {
  const { width, height, gutter, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = palette.of.surface;
  context.fillRect(0, 0, width, height);
  clip(context, { x: 0, y: TOP_PX, width, height: height - TOP_PX }, () => {
    drawHover(context, scene);
    clip(context, { x: gutter, y: TOP_PX, width: width - gutter, height: height - TOP_PX }, () => {
      drawGrid(context, scene);
      drawRows(context, scene);
      drawFlow(context, scene);
      drawSelection(context, scene);
    });
    drawNames(context, scene);
  });
  drawRuler(context, scene);
  drawMinimap(context, scene);
  drawLabel(context, scene);
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function clip(context: CanvasRenderingContext2D, { x, y, width, height }: Box, work: () => void): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  work();
  context.restore();
}

function drawHover(context: CanvasRenderingContext2D, { layout, camera, pointer, width, palette }: Scene): void {
  if (pointer === null || pointer.y < TOP_PX) return;
  const row = rowAt(layout, pointer.y - TOP_PX + camera.scroll);
  if (row === -1 || (layout.rows[row] ?? 0) < 0) return;
  const top = layout.tops[row] ?? 0;
  context.fillStyle = palette.of.raised;
  context.fillRect(0, TOP_PX + top - camera.scroll, width, (layout.tops[row + 1] ?? 0) - top);
}

function drawGrid(context: CanvasRenderingContext2D, { camera, extent, gutter, height, palette }: Scene): void {
  context.fillStyle = palette.of.line;
  context.globalAlpha = 0.45;
  for (const tick of ticksOf(camera, extent.from, 110).at)
    context.fillRect(Math.round(gutter + xOf(camera, extent.from + tick)), TOP_PX, 1, height);
  context.globalAlpha = 1;
}

function drawRuler(context: CanvasRenderingContext2D, { camera, extent, gutter, width, palette }: Scene): void {
  context.fillStyle = palette.of.surface;
  context.fillRect(0, MINIMAP_PX, width, RULER_PX);
  context.fillStyle = palette.of.line;
  context.fillRect(0, TOP_PX - 1, width, 1);
  const { step, at } = ticksOf(camera, extent.from, 110);
  for (const tick of at) {
    const x = Math.round(gutter + xOf(camera, extent.from + tick));
    if (x < gutter) continue;
    context.fillStyle = palette.of['line-strong'];
    context.fillRect(x, TOP_PX - 7, 1, 6);
    context.fillStyle = palette.of.quiet;
    drawCut(context, tickText(tick, step), { x: x + 4, y: MINIMAP_PX + 10, width: 100, font: `11px ${palette.font}` });
  }
  context.fillStyle = palette.of.quiet;
  const length = `window ${formatDuration(camera.to - camera.from)}`;
  if (gutter > 120)
    drawCut(context, length, { x: 10, y: MINIMAP_PX + 11, width: gutter - 20, font: `11px ${palette.font}` });
}

/** The whole trace, and the part of it that the lanes show. */
function drawMinimap(context: CanvasRenderingContext2D, scene: Scene): void {
  const { camera, gutter, width, palette, minimap, model } = scene;
  context.fillStyle = palette.of.raised;
  context.fillRect(0, 0, width, MINIMAP_PX);
  context.globalAlpha = 0.7;
  drawColumns(context, scene, minimap, { bottom: MINIMAP_PX - 2, height: MINIMAP_PX - 8 });
  const whole = minimapCamera(scene);
  const left = Math.max(gutter, Math.round(gutter + xOf(whole, camera.from)));
  const right = Math.min(width, Math.max(left + 3, Math.round(gutter + xOf(whole, camera.to))));
  context.globalAlpha = 0.6;
  context.fillStyle = palette.of.surface;
  context.fillRect(gutter, 0, left - gutter, MINIMAP_PX);
  context.fillRect(right, 0, width - right, MINIMAP_PX);
  context.globalAlpha = 1;
  context.strokeStyle = palette.of.accent;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), MINIMAP_PX - 1);
  context.fillStyle = palette.of.quiet;
  const text = counted(model.count, 'delivery', 'deliveries');
  if (gutter > 120)
    drawCut(context, text, { x: 10, y: MINIMAP_PX / 2, width: gutter - 20, font: `11px ${palette.font}` });
  context.fillStyle = palette.of.line;
  context.fillRect(0, MINIMAP_PX - 1, width, 1);
}

/** Names of groups and lanes at the left. */
function drawNames(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, camera, gutter, height, palette } = scene;
  const isNarrow = gutter < 120;
  for (let row = Math.max(0, rowAt(layout, camera.scroll)); row < layout.rows.length; row += 1) {
    const top = TOP_PX + (layout.tops[row] ?? 0) - camera.scroll;
    if (top > height) break;
    const content = layout.rows[row] ?? 0;
    const group = layout.groups[-1 - content];
    if (group !== undefined) {
      context.fillStyle = palette.of.text;
      const name = `${group.isFolded ? '▸' : '▾'} ${group.name}`;
      drawCut(context, name, {
        x: 8,
        y: top + GROUP_PX / 2,
        width: gutter - (isNarrow ? 12 : 70),
        font: `600 12px ${palette.font}`,
      });
      if (isNarrow) continue;
      context.fillStyle = palette.of.quiet;
      context.textAlign = 'right';
      const count = formatCount(group.lanes);
      drawCut(context, count, { x: gutter - 8, y: top + GROUP_PX / 2, width: 60, font: `11px ${palette.font}` });
      context.textAlign = 'left';
      continue;
    }
    drawLaneName(context, scene, content, top + LANE_PX / 2);
  }
  context.fillStyle = palette.of.line;
  context.fillRect(gutter - 1, TOP_PX, 1, height);
}

/** A run as the name of its agent or workflow and a shortened id, any other actor as its id. */
function drawLaneName(
  context: CanvasRenderingContext2D,
  { model, gutter, palette, runNames }: Scene,
  lane: number,
  y: number,
): void {
  const address = model.name(lane) ?? '';
  const id = address.slice(address.lastIndexOf('/') + 1);
  const name = runNameOf(address, runNames);
  const isNarrow = gutter < 120;
  const [x, width] = isNarrow ? [8, gutter - 12] : [20, gutter - 30];
  const font = `11px ${palette.mono}`;
  if (name === undefined) {
    context.fillStyle = palette.of.quiet;
    drawCut(context, id, { x, y, width, font, cut: 'middle' });
    return;
  }
  context.fillStyle = palette.of.text;
  drawCut(context, name, { x, y, width: isNarrow ? width : width - ID_PX, font: `11px ${palette.font}` });
  if (isNarrow) return;
  context.fillStyle = palette.of.quiet;
  drawCut(context, id.slice(0, 8), { x: x + width - ID_PX + 6, y, width: ID_PX, font });
}

/** Tooltip for the item under the pointer. */
function drawLabel(context: CanvasRenderingContext2D, scene: Scene): void {
  const { hovered, pointer, width, height, palette } = scene;
  if (hovered === null || pointer === null) return;
  const lines = labelOf(scene);
  if (lines.length === 0) return;
  context.font = `12px ${palette.font}`;
  const boxWidth = Math.min(420, Math.max(...lines.map((line) => context.measureText(line).width)) + 20);
  const boxHeight = lines.length * 17 + 10;
  const x = Math.min(pointer.x + 14, width - boxWidth - 4);
  const y = pointer.y + 18 + boxHeight > height ? pointer.y - boxHeight - 8 : pointer.y + 18;
  context.fillStyle = palette.of.surface;
  context.strokeStyle = palette.of['line-strong'];
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(Math.round(x) + 0.5, Math.round(y) + 0.5, boxWidth, boxHeight, 4);
  context.fill();
  context.stroke();
  for (const [index, line] of lines.entries()) {
    context.fillStyle = index === 0 ? palette.of.text : palette.of.quiet;
    const font = `${index === 0 ? '600 ' : ''}12px ${palette.font}`;
    drawCut(context, line, { x: x + 10, y: y + 14 + index * 17, width: boxWidth - 16, font });
  }
}

function labelOf({ hovered, model, layout, runNames }: Scene): string[] {
  if (hovered === null || hovered.kind === 'minimap') return [];
  if (hovered.kind === 'lane') {
    const address = model.name(hovered.lane) ?? '';
    const name = runNameOf(address, runNames);
    return name === undefined ? [address] : [name, address];
  }
  if (hovered.kind === 'group') {
    const group = layout.groups[hovered.group];
    if (group === undefined) return [];
    const near = hovered.deliveries > 0 ? [`${formatCount(hovered.deliveries)} here`] : [];
    return [
      `${group.name}: ${counted(group.lanes, 'actor', 'actors')}, ${counted(group.deliveries, 'delivery', 'deliveries')}`,
      ...near,
    ];
  }
  if (hovered.kind === 'effect') {
    const { effect } = hovered;
    const took = formatDuration(model.effectEnd(effect) - model.effectStart(effect));
    const node = model.name(model.effects.node.at(effect));
    const isOpen = Number.isNaN(model.effects.endedAt.at(effect));
    return [
      model.name(model.effects.kind.at(effect)) ?? 'effect',
      `${isOpen ? 'open for' : 'took'} ${took}, attempt ${model.effects.attempt.at(effect)}`,
      ...(node === null ? [] : [`on ${node}`]),
    ];
  }
  const { delivery, others } = hovered;
  const attempt = model.attempt.at(delivery);
  const takeover = model.takeover.at(delivery) === 1 ? [`takeover: epoch ${model.epoch.at(delivery)}`] : [];
  const more = others > 0 ? [`and ${formatCount(others)} more here: zoom in`] : [];
  return [
    model.name(model.type.at(delivery)) ?? '',
    `${model.outcomeOf(delivery)}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
    `waited ${formatDuration(model.wait.at(delivery))}, turn ${formatDuration(model.turn.at(delivery))}`,
    ...takeover,
    ...more,
  ];
}
