import type { Json, JsonObject } from '../../runtime/json.ts';

/** An own property, never one of a prototype. */
export function own<T>(record: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** UTF-8 size of a value as JSON text. */
export const jsonBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
