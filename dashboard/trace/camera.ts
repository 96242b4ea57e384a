/** The visible part of a trace: times in Unix ms on `width` pixels, and the scroll position of the lanes. */
export interface Camera {
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly scroll: number;
}

/** From the first to the last moment of a trace. */
export interface Extent {
  readonly from: number;
  readonly to: number;
}

/** Largest zoom: one microsecond, the precision of turns, over the whole width. */
const LEAST_MS = 0.02;
/** Part of the window that stays free at the ends of the trace. */
const MARGIN = 0.02;

export const scaleOf = ({ from, to, width }: Camera): number => width / (to - from);

export const xOf = (camera: Camera, time: number): number => (time - camera.from) * scaleOf(camera);

export const timeAt = (camera: Camera, x: number): number => camera.from + x / scaleOf(camera);

/** All of the trace. */
export function fitted(camera: Camera, { from, to }: Extent): Camera {
  const length = Math.max(to - from, 1);
  return { ...camera, from: from - length * MARGIN, to: to + length * MARGIN };
}

/** Zooms by a factor (above 1: nearer); the moment at `x` stays where it is. */
export function zoomed(camera: Camera, factor: number, x: number, extent: Extent): Camera {
  const most = Math.max(extent.to - extent.from, 1) * (1 + 2 * MARGIN);
  const length = Math.min(most, Math.max(LEAST_MS, (camera.to - camera.from) / factor));
  const moment = timeAt(camera, x);
  const from = moment - (x / camera.width) * length;
  return within({ ...camera, from, to: from + length }, extent);
}

/** Moves by pixels; positive: later. */
export function moved(camera: Camera, pixels: number, extent: Extent): Camera {
  const by = pixels / scaleOf(camera);
  return within({ ...camera, from: camera.from + by, to: camera.to + by }, extent);
}

/** Shows a period of time. */
export function showing(camera: Camera, stretch: Extent, extent: Extent): Camera {
  const middle = (stretch.from + stretch.to) / 2;
  const length = Math.max(LEAST_MS, stretch.to - stretch.from);
  return within({ ...camera, from: middle - length / 2, to: middle + length / 2 }, extent);
}

/** Moves as little as possible to show a period; the zoom stays unless the period is longer than the window. */
export function revealing(camera: Camera, stretch: Extent, extent: Extent): Camera {
  const length = camera.to - camera.from;
  const margin = length * 0.1;
  if (stretch.from >= camera.from && stretch.to <= camera.to) return camera;
  if (stretch.to - stretch.from > length - 2 * margin) {
    const around = (stretch.to - stretch.from) * 0.2;
    return showing(camera, { from: stretch.from - around, to: stretch.to + around }, extent);
  }
  const from = stretch.from < camera.from ? stretch.from - margin : stretch.to + margin - length;
  return within({ ...camera, from, to: from + length }, extent);
}

/** At most half of the window may be outside of the trace. */
function within(camera: Camera, { from, to }: Extent): Camera {
  const length = camera.to - camera.from;
  const free = Math.max(length / 2, (to - from) * MARGIN);
  const begin = Math.min(Math.max(camera.from, from - free), to + free - length);
  return { ...camera, from: begin, to: begin + length };
}

/** Times for the marks of a ruler: round numbers since the start of the trace, at least `apart` pixels from each other. */
export function ticksOf(
  camera: Camera,
  origin: number,
  apart: number,
): { readonly step: number; readonly at: number[] } {
  const least = apart / scaleOf(camera);
  const power = 10 ** Math.floor(Math.log10(least));
  const decimal = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least) ?? power * 10;
  const clock = [15_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];
  const step = least > 10_000 ? (clock.find((one) => one >= least) ?? decimal) : decimal;
  const at: number[] = [];
  for (let tick = Math.ceil((camera.from - origin) / step); tick * step + origin <= camera.to; tick += 1)
    at.push(tick * step);
  return { step, at };
}

/** A time since the start of the trace, with the precision of its step. */
export function tickText(ms: number, step: number): string {
  const sign = ms < 0 ? '−' : '';
  const size = Math.abs(ms);
  if (step < 1 && size < 1_000) return `${sign}${size.toFixed(digits(step))} ms`;
  if (step < 1_000)
    return size < 1_000 ? `${sign}${Math.round(size)} ms` : `${sign}${(size / 1_000).toFixed(digits(step / 1_000))} s`;
  const seconds = Math.round(size / 1_000);
  if (step < 15_000 && seconds < 60) return `${sign}${seconds} s`;
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${sign}${hours}:${two(minutes)}:${two(seconds % 60)}` : `${sign}${minutes}:${two(seconds % 60)}`;
}

const digits = (step: number): number => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
