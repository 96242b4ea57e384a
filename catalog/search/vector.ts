/**
 * A direction as whole numbers from -127 to 127: a quarter of the memory of floats, and cosines differ in the third
 * decimal place.
 */
export interface Vector {
  readonly parts: Int8Array;
  readonly length: number;
}

/** Null for what has no direction. */
export function vectorOf(numbers: readonly number[]): Vector | null {
  const most = numbers.reduce((max, number) => Math.max(max, Math.abs(number)), 0);
  if (!Number.isFinite(most) || most === 0) return null;
  return withLength(Int8Array.from(numbers, (number) => Math.round((number / most) * 127)));
}

export const textOfVector = ({ parts }: Vector): string =>
  Buffer.from(parts.buffer, parts.byteOffset, parts.byteLength).toString('base64');

/** Null for a text that holds none. */
export function vectorOfText(text: string): Vector | null {
  const parts = new Int8Array(Buffer.from(text, 'base64'));
  return parts.length === 0 ? null : withLength(parts);
}

function withLength(parts: Int8Array): Vector | null {
  const square = parts.reduce((sum, part) => sum + part * part, 0);
  return square === 0 ? null : { parts, length: Math.sqrt(square) };
}

/** -1 to 1; 0 for vectors that do not go together. */
export function cosine(one: Vector, other: Vector): number {
  const { parts } = one;
  if (parts.length !== other.parts.length) return 0;
  let sum = 0;
  for (let at = 0; at < parts.length; at += 1) sum += (parts[at] ?? 0) * (other.parts[at] ?? 0);
  return sum / (one.length * other.length);
}
