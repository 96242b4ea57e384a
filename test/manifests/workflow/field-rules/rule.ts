import type { Kind } from '../document.ts';

/**
 * One field of a manifest (W1–W15): where it stands (below the document for `top`, else below the state `s` of that
 * kind); values that are accepted with what comes out of them, where and how others are refused.
 */
export interface FieldRule {
  readonly on: 'top' | Kind;
  readonly field: string;
  /** Name of the field after parsing, when it changes. */
  readonly out?: string;
  /** Written value and resulting value; undefined: not written. */
  readonly accepts: readonly (readonly [written: unknown, out: unknown])[];
  /** Written value (undefined: not written), the reason, and the path that is named if not the field's. */
  readonly refuses: readonly (readonly [written: unknown, message: RegExp, path?: string])[];
}

export const same = (...values: readonly unknown[]) => values.map((value) => [value, value] as const);
export const REQUIRED = /^required/;
export const NUMBER = /expected a number, got text/;
export const WHOLE = /expected a whole number|expected a number/;
