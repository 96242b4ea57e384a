import { z } from 'zod';
import type { Json, JsonObject } from '../../runtime/json.ts';

/**
 * JSON inside a message, event or state. What crosses the kernel was parsed from JSON text, so its inside is not walked
 * again: a blackboard of some MiB would be copied at every turn.
 */
export const jsonField = z.custom<Json>((value) => value !== undefined, 'expected a JSON value');

export const jsonObjectField = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

/** A property of its own, never one of a prototype. */
export function own<T>(record: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** UTF-8 size of a value as JSON text. */
export const jsonBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
