import type { Json } from '../../runtime/json.ts';

/** An own property, never one of a prototype. */
export function own<T>(record: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** UTF-8 size of a value as JSON text. */
export const jsonBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
