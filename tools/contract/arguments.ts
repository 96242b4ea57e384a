import { z } from 'zod';

/** Longest path, pattern and command that a tool takes, characters. */
export const PATH_CHARS = 4_096;
/** Longest text that a tool takes, characters. */
export const TEXT_CHARS = 10 * 1024 * 1024;

/**
 * Arguments of a tool: an object with these keys and no other. Null counts as missing (spec 3, Argument validation), so an
 * optional one has its default and a required one is refused.
 */
export const toolArguments = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(withoutNulls, z.strictObject(shape));

function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/** Text that the system takes as a name or an argument: it cannot hold NUL. */
export const systemText = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((value) => !value.includes('\0'), 'expected text without NUL');

/** An absolute path, or one under /workspace. */
export const path = systemText(PATH_CHARS).min(1).describe('Absolute, or relative to /workspace.');

export const text = z.string().max(TEXT_CHARS);
