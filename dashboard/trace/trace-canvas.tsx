import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { Camera, Extent } from './camera.ts';
import { onLookChange } from './palette.ts';
import type { Found } from './scene.ts';
import { Stage, type StageContent } from './stage.ts';

interface TraceCanvasProps {
  readonly content: StageContent;
  readonly label: string;
  /** Handle for the keys of the page. */
  readonly stage: RefObject<Stage | null>;
  readonly pick: (found: Found | null) => void;
  readonly onMove: (camera: Camera, extent: Extent) => void;
}

/** The picture, with its pointer actions. */
export function TraceCanvas({ content, label, stage, pick, onMove }: TraceCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef({ pick, onMove });
  latest.current = { pick, onMove };
  useLayoutEffect(() => {
    const element = canvas.current;
    const frame = element?.parentElement;
    if (element === null || frame === null || frame === undefined) return;
    const made = new Stage(element);
    made.onMove = (camera, extent) => latest.current.onMove(camera, extent);
    stage.current = made;
    made.resize(frame.clientWidth, frame.clientHeight);
    const resized = new ResizeObserver(() => made.resize(frame.clientWidth, frame.clientHeight));
    resized.observe(frame);
    const ends = [
      onLookChange(() => made.recolour()),
      followPointer(element, made, (found) => latest.current.pick(found)),
    ];
    return () => {
      resized.disconnect();
      for (const end of ends) end();
      made.close();
      stage.current = null;
    };
  }, [stage]);
  useEffect(() => stage.current?.show(content), [stage, content]);
  return (
    <div className="trace-canvas">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the picture takes keys of its own. */}
      <canvas ref={canvas} role="application" tabIndex={0} aria-label={label} aria-describedby="trace-keys" />
    </div>
  );
}

/** A press that moves less counts as a click. */
const CLICK_PX = 4;
const ZOOM_PER_PX = 0.002;

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Drag to pan, wheel to scroll or zoom, two fingers to zoom, click to select. Returns a function that ends it. */
function followPointer(canvas: HTMLCanvasElement, stage: Stage, pick: (found: Found | null) => void): () => void {
  const down = new Map<number, Place>();
  let begin: (Place & { readonly onMinimap: boolean }) | null = null;
  let isDragged = false;
  const placeOf = (event: MouseEvent): Place => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const press = (event: PointerEvent): void => {
    const place = placeOf(event);
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place);
    begin = { ...place, onMinimap: Stage.isMinimap(place.y) };
    isDragged = down.size > 1;
    if (begin.onMinimap && place.x > stage.gutter) stage.centre(place.x);
  };
  const move = (event: PointerEvent): void => {
    const place = placeOf(event);
    const before = down.get(event.pointerId);
    if (before === undefined) {
      stage.point(place);
      return;
    }
    down.set(event.pointerId, place);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other !== undefined) {
      const [was, is] = [Math.abs(before.x - other.x), Math.abs(place.x - other.x)];
      if (was > 8 && is > 8) stage.zoom(is / was, (place.x + other.x) / 2);
      return;
    }
    if (begin === null) return;
    isDragged ||= Math.hypot(place.x - begin.x, place.y - begin.y) > CLICK_PX;
    if (!isDragged) return;
    canvas.classList.add('dragged');
    stage.point(null);
    if (begin.onMinimap) stage.centre(place.x);
    else stage.pan(before.x - place.x, before.y - place.y);
  };
  const release = (event: PointerEvent): void => {
    const place = placeOf(event);
    const isClick = down.size === 1 && !isDragged && begin?.onMinimap === false;
    down.delete(event.pointerId);
    canvas.classList.remove('dragged');
    if (isClick) pick(stage.at(place.x, place.y));
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { x } = placeOf(event);
    const px = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.ctrlKey || event.metaKey) stage.zoom(Math.exp(-event.deltaY * px * ZOOM_PER_PX * 4), x);
    else if (event.shiftKey) stage.pan((event.deltaX || event.deltaY) * px);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) stage.pan(event.deltaX * px);
    else if (x < stage.gutter) stage.pan(0, event.deltaY * px);
    else stage.zoom(Math.exp(-event.deltaY * px * ZOOM_PER_PX), x);
  };
  const leave = (): void => stage.point(null);
  const nearer = (event: MouseEvent): void => stage.zoom(4, placeOf(event).x);
  const listen = new AbortController();
  const { signal } = listen;
  canvas.addEventListener('pointerdown', press, { signal });
  canvas.addEventListener('pointermove', move, { signal });
  canvas.addEventListener('pointerup', release, { signal });
  canvas.addEventListener('pointercancel', release, { signal });
  canvas.addEventListener('pointerleave', leave, { signal });
  canvas.addEventListener('dblclick', nearer, { signal });
  canvas.addEventListener('wheel', wheel, { signal, passive: false });
  return () => listen.abort();
}
