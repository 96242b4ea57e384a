import { type RefObject, useEffect, useRef } from 'react';
import type { Stage } from '../../trace/stage.ts';

interface TraceKeys {
  readonly stage: RefObject<Stage | null>;
  /** Selects the message after or before the selected one. */
  readonly step: (step: 1 | -1) => void;
  /** Selects the cause, or the first effect, of the selected message. */
  readonly follow: (way: 'cause' | 'effect') => void;
  readonly open: () => void;
  readonly back: () => void;
  readonly search: () => void;
  readonly stepHit: (step: 1 | -1) => void;
}

const PAN_PX = 120;
const ZOOM = 1.6;

/** Keys of the trace. They override those of all pages, but `g` and a letter still opens a page. */
export function useTraceKeys(keys: TraceKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let wentAt = 0;
    const press = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isBusy(event.target)) return;
      const isAfterGo = Date.now() - wentAt < 1_000;
      wentAt = event.key === 'g' ? Date.now() : 0;
      const isOnPicture = event.target === document.body || event.target instanceof HTMLCanvasElement;
      const act = isAfterGo ? undefined : actionOf(event.key, latest.current, isOnPicture);
      if (act === undefined) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      act();
    };
    window.addEventListener('keydown', press, { capture: true });
    return () => window.removeEventListener('keydown', press, { capture: true });
  }, []);
}

const isBusy = (target: EventTarget | null): boolean =>
  document.querySelector('dialog[open]') !== null ||
  (target instanceof HTMLElement && ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));

function actionOf(key: string, keys: TraceKeys, isOnPicture: boolean): (() => void) | undefined {
  const stage = keys.stage.current;
  return (isOnPicture && stage !== null ? ofPicture(key, keys) : undefined) ?? always(key, keys, stage);
}

/** Keys that lists and buttons handle themselves elsewhere. */
function ofPicture(key: string, keys: TraceKeys): (() => void) | undefined {
  switch (key) {
    case 'ArrowRight':
      return () => keys.step(1);
    case 'ArrowLeft':
      return () => keys.step(-1);
    case 'ArrowUp':
      return () => keys.follow('cause');
    case 'ArrowDown':
      return () => keys.follow('effect');
    case 'Enter':
      return keys.open;
    default:
      return undefined;
  }
}

function always(key: string, keys: TraceKeys, stage: Stage | null): (() => void) | undefined {
  switch (key) {
    case 'w':
      return () => stage?.zoom(ZOOM);
    case 's':
      return () => stage?.zoom(1 / ZOOM);
    case 'a':
      return () => stage?.pan(-PAN_PX);
    case 'd':
      return () => stage?.pan(PAN_PX);
    case 'f':
      return () => stage?.fit();
    case 'n':
      return () => keys.stepHit(1);
    case 'N':
      return () => keys.stepHit(-1);
    case '/':
      return keys.search;
    case 'Escape':
      return keys.back;
    default:
      return undefined;
  }
}
