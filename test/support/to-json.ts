import type { JsonObject } from '../../runtime/json.ts';

/** An object as its reader gets it: a copy by way of JSON text. */
export const toJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value));
