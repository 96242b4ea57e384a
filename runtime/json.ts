import { z } from 'zod';

/** What crosses a port: plain JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonObject = { [key: string]: Json };

/**
 * JSON inside a message, event or state. What crosses the kernel was parsed from JSON text, so its inside is not walked
 * again: payloads have up to 16 MiB and are read at every hop.
 */
export const jsonField = z.custom<Json>((value) => value !== undefined, 'expected a JSON value');

export const jsonObjectField = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);
