import { type Camera, type Extent, fitted, moved, revealing, showing, timeAt, zoomed } from './camera.ts';
import { draw } from './draw.ts';
import { GROUP_PX, type Layout, rowAt } from './layout.ts';
import { Density } from './level.ts';
import { TraceModel } from './model.ts';
import { type Palette, readPalette } from './palette.ts';
import { type Found, find, MINIMAP_PX, minimapCamera, type Scene, TOP_PX } from './scene.ts';
import { inOrder, type RunNames } from './selection.ts';

/** Content of the picture, given by the page. */
export interface StageContent {
  readonly model: TraceModel;
  readonly layout: Layout;
  readonly shown: Uint8Array | null;
  readonly selected: number;
  readonly arrows: Uint32Array;
  readonly isDimmed: boolean;
  readonly hits: Uint32Array;
  readonly runNames: RunNames;
  /** True during the first read of the trace: the picture shows all data until the user moves the view. */
  readonly isReading: boolean;
}

const NOTHING: StageContent = {
  model: new TraceModel(),
  layout: {
    groups: [],
    rows: new Int32Array(0),
    tops: new Float64Array(1),
    rowOfLane: new Int32Array(0),
    starts: new Uint32Array(1),
    items: new Uint32Array(0),
    height: 0,
  },
  shown: null,
  selected: -1,
  arrows: new Uint32Array(0),
  isDimmed: false,
  hits: new Uint32Array(0),
  runNames: new Map(),
  isReading: true,
};

const GUTTER_PX = 200;
const NARROW_GUTTER_PX = 84;
const NARROW_PX = 640;

/** The canvas with its content and its view. It draws once per frame, and only after a change. */
export class Stage {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  /** Called when the window of time has changed. */
  onMove: (camera: Camera, extent: Extent) => void = () => {};
  #content = NOTHING;
  #camera: Camera = { from: 0, to: 1, width: 1, scroll: 0 };
  #extent: Extent = { from: 0, to: 1 };
  #palette: Palette;
  #minimap = new Density(2_048, 2);
  #pointer: Scene['pointer'] = null;
  #width = 1;
  #height = 1;
  #frame = 0;
  /** Whether the user, or a link, chose the view. */
  #isMoved = false;

  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) throw new Error('This browser draws no canvas.');
    this.#canvas = canvas;
    this.#context = context;
    this.#palette = readPalette(canvas.parentElement ?? document.body);
  }

  get gutter(): number {
    return this.#width < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX;
  }

  /** Takes new content. The row under the pointer, or else the top one, keeps its position. */
  show(content: StageContent): void {
    const isGrowing = this.#content.isReading && content.model.count > 0 && !this.#isMoved;
    const kept = this.#keptRow();
    this.#content = content;
    const { startedAt, lastMoment } = content.model;
    if (content.model.count > 0) this.#extent = { from: startedAt, to: Math.max(lastMoment, startedAt + 0.001) };
    if (isGrowing) this.#camera = fitted(this.#camera, this.#extent);
    this.#camera = { ...this.#camera, scroll: this.#scrolled(this.#camera.scroll + this.#shiftOf(kept)) };
    this.#countMinimap();
    this.redraw();
  }

  #keptRow(): { readonly lane: number; readonly top: number } | null {
    const { layout } = this.#content;
    const y = this.#pointer === null || this.#pointer.y < TOP_PX ? 0 : this.#pointer.y - TOP_PX;
    const row = rowAt(layout, this.#camera.scroll + y);
    const lane = layout.rows[row] ?? -1;
    return lane < 0 ? null : { lane, top: layout.tops[row] ?? 0 };
  }

  #shiftOf(kept: { readonly lane: number; readonly top: number } | null): number {
    if (kept === null) return 0;
    const { layout } = this.#content;
    const row = layout.rowOfLane[kept.lane] ?? -1;
    return row === -1 ? 0 : (layout.tops[row] ?? kept.top) - kept.top;
  }

  resize(width: number, height: number): void {
    this.#width = Math.max(1, width);
    this.#height = Math.max(1, height);
    const ratio = window.devicePixelRatio;
    this.#canvas.width = Math.round(this.#width * ratio);
    this.#canvas.height = Math.round(this.#height * ratio);
    this.#camera = { ...this.#camera, width: Math.max(1, this.#width - this.gutter) };
    this.#camera = { ...this.#camera, scroll: this.#scrolled(this.#camera.scroll) };
    this.#countMinimap();
    // At once: a canvas of a new size is empty.
    this.#draw();
  }

  recolour(): void {
    this.#palette = readPalette(this.#canvas.parentElement ?? document.body);
    this.redraw();
  }

  #countMinimap(): void {
    const { model, shown } = this.#content;
    const all = inOrder(model, shown);
    this.#minimap.count(model, all, 0, all.length, minimapCamera({ camera: this.#camera, extent: this.#extent }));
  }

  /** Shows the whole trace. */
  fit(): void {
    this.#look(fitted(this.#camera, this.#extent));
  }

  /** Shows the period of a link. */
  lookAt(stretch: Extent): void {
    this.#look(showing(this.#camera, stretch, this.#extent));
  }

  /** Zooms at a position of the canvas, or in the middle. */
  zoom(factor: number, x = this.gutter + this.#camera.width / 2): void {
    this.#look(zoomed(this.#camera, factor, Math.max(0, x - this.gutter), this.#extent));
  }

  pan(pixels: number, rows = 0): void {
    const camera = pixels === 0 ? this.#camera : moved(this.#camera, pixels, this.#extent);
    this.#look({ ...camera, scroll: this.#scrolled(camera.scroll + rows) });
  }

  /** Moves until a delivery is visible. */
  reveal(delivery: number): void {
    const { model, layout } = this.#content;
    if (delivery < 0 || delivery >= model.count) return;
    const camera = revealing(this.#camera, { from: model.time.at(delivery), to: model.endOf(delivery) }, this.#extent);
    const row = layout.rowOfLane[model.to.at(delivery)] ?? -1;
    const top = layout.tops[row] ?? camera.scroll;
    const room = this.#height - TOP_PX - GROUP_PX * 2;
    const scroll =
      top < camera.scroll + 4 ? top - GROUP_PX : top > camera.scroll + room ? top - room / 2 : camera.scroll;
    this.#look({ ...camera, scroll: this.#scrolled(scroll) });
  }

  /** Moves the window to be centred at a position of the minimap. */
  centre(x: number): void {
    const moment = timeAt(minimapCamera({ camera: this.#camera, extent: this.#extent }), x - this.gutter);
    const half = (this.#camera.to - this.#camera.from) / 2;
    this.#look({ ...this.#camera, from: moment - half, to: moment + half });
  }

  #look(camera: Camera): void {
    const isMoved = camera.from !== this.#camera.from || camera.to !== this.#camera.to;
    this.#isMoved ||= isMoved;
    this.#camera = camera;
    if (isMoved) this.onMove(camera, this.#extent);
    this.redraw();
  }

  #scrolled(scroll: number): number {
    const most = this.#content.layout.height + GROUP_PX - (this.#height - TOP_PX);
    return Math.round(Math.max(0, Math.min(scroll, most)));
  }

  /** What is at a place. */
  at(x: number, y: number): Found | null {
    return find(this.#scene(), x, y);
  }

  point(pointer: Scene['pointer']): void {
    this.#pointer = pointer;
    this.redraw();
  }

  static isMinimap = (y: number): boolean => y < MINIMAP_PX;

  #scene(): Scene {
    const { model, layout, shown, selected, arrows, isDimmed, hits, runNames } = this.#content;
    return {
      model,
      layout,
      shown,
      selected,
      arrows,
      isDimmed,
      hits,
      runNames,
      camera: this.#camera,
      palette: this.#palette,
      width: this.#width,
      height: this.#height,
      gutter: this.gutter,
      extent: this.#extent,
      minimap: this.#minimap,
      hovered: null,
      pointer: this.#pointer,
    };
  }

  redraw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const scene = this.#scene();
    const hovered = this.#pointer === null ? null : find(scene, this.#pointer.x, this.#pointer.y);
    draw(this.#context, { ...scene, hovered }, window.devicePixelRatio);
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
  }
}
