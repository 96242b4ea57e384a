import { OUTCOMES } from './batch.ts';

type Token =
  | 'surface'
  | 'raised'
  | 'line'
  | 'line-strong'
  | 'text'
  | 'quiet'
  | 'accent'
  | 'accent-soft'
  | 'good'
  | 'busy'
  | 'waits'
  | 'bad'
  | 'idle';

/** Colours of the canvas, from the current style sheet. */
export interface Palette {
  readonly of: Readonly<Record<Token, string>>;
  /** By the number of an outcome. */
  readonly outcomes: readonly string[];
  readonly onBar: string;
  readonly font: string;
  readonly mono: string;
}

const TONES: Readonly<Record<(typeof OUTCOMES)[number], Token>> = {
  done: 'accent',
  refused: 'bad',
  retried: 'waits',
  deferred: 'idle',
  stale: 'idle',
  'dead-lettered': 'bad',
  unknown: 'idle',
};

/** Reads the colours of an element from the style sheet, which resolves `light-dark()`. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (token: string): string => {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  };
  const of: Record<Token, string> = {
    surface: colour('surface'),
    raised: colour('raised'),
    line: colour('line'),
    'line-strong': colour('line-strong'),
    text: colour('text'),
    quiet: colour('quiet'),
    accent: colour('accent'),
    'accent-soft': colour('accent-soft'),
    good: colour('good'),
    busy: colour('busy'),
    waits: colour('waits'),
    bad: colour('bad'),
    idle: colour('idle'),
  };
  const onBar = colour('on-accent');
  probe.style.fontFamily = 'var(--mono)';
  const mono = getComputedStyle(probe).fontFamily;
  const font = getComputedStyle(element).fontFamily;
  probe.remove();
  return { of, outcomes: OUTCOMES.map((outcome) => of[TONES[outcome]]), onBar, font, mono };
}

/** Calls back when the theme of the page changes. */
export function onLookChange(change: () => void): () => void {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const observer = new MutationObserver(change);
  dark.addEventListener('change', change);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  return () => {
    dark.removeEventListener('change', change);
    observer.disconnect();
  };
}
