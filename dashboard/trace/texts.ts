import { plainLine } from '../parts/format.ts';

interface Place {
  readonly x: number;
  /** Middle of the line. */
  readonly y: number;
  readonly width: number;
  readonly font: string;
  /** Where it is cut when it is too long. */
  readonly cut?: 'end' | 'middle';
}

const MOST_KEPT = 4_000;
const fitting = new Map<string, string>();

/** Draws a text in the current colour, shortened until it fits. */
export function drawCut(
  context: CanvasRenderingContext2D,
  text: string,
  { x, y, width, font, cut = 'end' }: Place,
): void {
  context.font = font;
  context.textBaseline = 'middle';
  context.fillText(shortened(context, text, Math.floor(width), cut), x, y + 0.5);
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number, cut: 'end' | 'middle'): string {
  const key = `${context.font} ${width} ${cut} ${text}`;
  const known = fitting.get(key);
  if (known !== undefined) return known;
  const plain = plainLine(text, 200);
  // Try the whole text first: with an ellipsis in place of its last letter it may be wider.
  const isWhole = context.measureText(plain).width <= width;
  let low = isWhole ? plain.length : 0;
  let high = isWhole ? plain.length : plain.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(cutTo(plain, middle, cut)).width <= width) low = middle;
    else high = middle - 1;
  }
  const result = low < 2 ? '' : cutTo(plain, low, cut);
  if (fitting.size > MOST_KEPT) fitting.clear();
  fitting.set(key, result);
  return result;
}

function cutTo(text: string, length: number, cut: 'end' | 'middle'): string {
  if (length >= text.length) return text;
  if (cut === 'end') return `${text.slice(0, length)}…`;
  const tail = Math.floor(length / 3);
  return `${text.slice(0, length - tail)}…${text.slice(text.length - tail)}`;
}
