import type { Json } from '../../json-schema/json.ts';

/** What is known of the value at some place: enough to say that a path leads to nothing. */
export type Shape =
  | { readonly is: 'any' }
  /** Text, number or truth value: nothing inside. */
  | { readonly is: 'plain' }
  | { readonly is: 'map'; readonly fields: ReadonlyMap<string, Shape> }
  | { readonly is: 'list'; readonly item: Shape; readonly length?: number };

export const ANY: Shape = { is: 'any' };
export const PLAIN: Shape = { is: 'plain' };
export const map = (fields: Readonly<Record<string, Shape>>): Shape => ({
  is: 'map',
  fields: new Map(Object.entries(fields)),
});
export const list = (item: Shape, length?: number): Shape => ({
  is: 'list',
  item,
  ...(length === undefined ? {} : { length }),
});

/** Where a path leaves what is known: how many of its parts exist, and what the next could have been. */
export interface Astray {
  readonly known: number;
  readonly choices: readonly string[];
}

/** Null when the path may lead somewhere. */
export function astray(shape: Shape, path: readonly string[]): Astray | null {
  let at = shape;
  for (const [index, part] of path.entries()) {
    if (at.is === 'any') return null;
    const next = inside(at, part);
    if (next === null) return { known: index, choices: at.is === 'map' ? [...at.fields.keys()] : [] };
    at = next;
  }
  return null;
}

function inside(shape: Shape, part: string): Shape | null {
  if (shape.is === 'map') return shape.fields.get(part) ?? null;
  if (shape.is !== 'list') return null;
  if (part === 'length') return PLAIN;
  if (!/^\d{1,6}$/.test(part)) return null;
  return shape.length !== undefined && Number(part) >= shape.length ? null : shape.item;
}

/** Of a constant. */
export function shapeOfJson(value: Json): Shape {
  if (Array.isArray(value)) return list(ANY, value.length);
  if (typeof value !== 'object' || value === null) return PLAIN;
  return { is: 'map', fields: new Map(Object.entries(value).map(([key, inner]) => [key, shapeOfJson(inner)])) };
}
