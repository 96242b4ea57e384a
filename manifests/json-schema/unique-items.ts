import type { Json } from './json.ts';

/** `uniqueItems` in one pass over canonical texts: the stock keyword compares every pair. */
export function uniqueItems(wanted: boolean, items: readonly Json[]): boolean {
  return !wanted || new Set(items.map(canonical)).size === items.length;
}

/** Same text for equal JSON: keys sorted. Depth is bounded by the parser before. */
function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
