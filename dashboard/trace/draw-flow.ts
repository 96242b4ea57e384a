import { xOf } from './camera.ts';
import { BAR_PX, middleOf, type Scene, TOP_PX } from './scene.ts';
import { drawCut } from './texts.ts';

const HEAD_PX = 5;

/** Arrows of the selection, and the deliveries that they connect. */
export function drawFlow(context: CanvasRenderingContext2D, scene: Scene): void {
  const { arrows, hits, palette, isDimmed } = scene;
  context.fillStyle = palette.of.waits;
  for (const hit of hits) drawHit(context, scene, hit);
  if (isDimmed) for (const delivery of new Set(arrows)) drawBar(context, scene, delivery);
  context.strokeStyle = palette.of.text;
  context.fillStyle = palette.of.text;
  context.lineWidth = 1;
  context.globalAlpha = arrows.length > 400 ? 0.35 : 0.75;
  for (let at = 0; at + 1 < arrows.length; at += 2) drawArrow(context, scene, arrows[at] ?? 0, arrows[at + 1] ?? 0);
  context.globalAlpha = 1;
}

/** A hit of the search: a line under its bar. */
function drawHit(context: CanvasRenderingContext2D, scene: Scene, delivery: number): void {
  const { camera, model, gutter, width, height } = scene;
  const x = gutter + xOf(camera, model.turnAt(delivery));
  if (x < gutter - 4 || x > width) return;
  const y = middleOf(scene, delivery);
  if (!(y > TOP_PX - 10 && y < height + 10)) return;
  const right = Math.min(width, gutter + xOf(camera, model.endOf(delivery)));
  context.fillRect(x - 1, y + BAR_PX / 2, Math.max(5, right - x + 2), 3);
}

function drawBar(context: CanvasRenderingContext2D, scene: Scene, delivery: number): void {
  const { camera, model, gutter, width, palette } = scene;
  const y = middleOf(scene, delivery);
  if (Number.isNaN(y)) return;
  const left = Math.max(gutter, Math.round(gutter + xOf(camera, model.turnAt(delivery))));
  const right = Math.min(width, Math.max(left + 3, Math.round(gutter + xOf(camera, model.endOf(delivery)))));
  if (left > width || right < gutter) return;
  const waits = Math.max(gutter, Math.round(gutter + xOf(camera, model.time.at(delivery))));
  context.globalAlpha = 0.5;
  context.fillStyle = palette.of.idle;
  context.fillRect(waits, y - 2, Math.max(0, left - waits), 4);
  context.globalAlpha = 1;
  context.fillStyle = palette.outcomes[model.outcome.at(delivery)] ?? palette.of.idle;
  context.fillRect(left, y - BAR_PX / 2, right - left, BAR_PX);
}

/** From the end of the turn that sent a message to the moment when it was appended. */
function drawArrow(context: CanvasRenderingContext2D, scene: Scene, cause: number, effect: number): void {
  const { camera, model, gutter, width, height } = scene;
  const x0 = gutter + xOf(camera, model.endOf(cause));
  const x1 = gutter + xOf(camera, Math.max(model.time.at(effect), model.endOf(cause)));
  const [y0, y1] = [middleOf(scene, cause), middleOf(scene, effect)];
  if (Number.isNaN(y0) || Number.isNaN(y1)) return;
  if ((x0 < gutter && x1 < gutter) || (x0 > width && x1 > width)) return;
  if ((y0 < TOP_PX && y1 < TOP_PX) || (y0 > height && y1 > height)) return;
  context.beginPath();
  context.moveTo(x0, y0);
  if (y0 === y1) {
    const rise = Math.min(BAR_PX / 2 + 2, (x1 - x0) / 2);
    context.bezierCurveTo(x0, y0 - rise * 2, x1 - HEAD_PX, y1 - rise * 2, x1, y1);
  } else {
    const bend = Math.max(10, Math.min(60, (x1 - x0) / 2));
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  }
  context.stroke();
  context.beginPath();
  context.moveTo(x1 + 1, y1);
  context.lineTo(x1 - HEAD_PX, y1 - HEAD_PX + 1.5);
  context.lineTo(x1 - HEAD_PX, y1 + HEAD_PX - 1.5);
  context.fill();
}

/** A frame around the selected delivery, and a line down from the ruler. */
export function drawSelection(context: CanvasRenderingContext2D, scene: Scene): void {
  const { selected, camera, model, gutter, width, height, palette } = scene;
  if (selected === -1) return;
  const y = middleOf(scene, selected);
  const left = Math.round(gutter + xOf(camera, model.turnAt(selected)));
  const right = Math.round(gutter + xOf(camera, model.endOf(selected)));
  if (Number.isNaN(y) || left > width || right < gutter) return;
  context.fillStyle = palette.of.text;
  context.globalAlpha = 0.25;
  context.fillRect(left, TOP_PX, 1, height);
  context.globalAlpha = 1;
  drawBar(context, scene, selected);
  if (right - left > 44) {
    const name = model.name(model.type.at(selected)) ?? '';
    context.fillStyle = palette.onBar;
    const begin = Math.max(gutter, left);
    drawCut(context, name, {
      x: begin + 5,
      y,
      width: Math.min(right, width) - begin - 10,
      font: `11px ${palette.font}`,
    });
  }
  context.strokeStyle = palette.of.text;
  context.lineWidth = 2;
  context.strokeRect(left - 2, y - BAR_PX / 2 - 2, Math.max(7, right - left + 4), BAR_PX + 4);
}
