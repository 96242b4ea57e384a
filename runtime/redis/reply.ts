import { SvcError } from '../errors.ts';

/** Checked reading of what a function answered. A surprise is our bug: the functions and this file go together. */
export function list(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw unexpected('a list');
}

export function integer(reply: unknown): number {
  const value = typeof reply === 'string' && reply !== '' ? Number(reply) : reply;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw unexpected('an integer');
}

export function text(reply: unknown): string {
  if (typeof reply === 'string') return reply;
  throw unexpected('text');
}

export const textOrNull = (reply: unknown): string | null =>
  reply === null || reply === undefined ? null : text(reply);

/** Functions answer '' where there is no number. */
export const integerOrNull = (reply: unknown): number | null => (reply === '' ? null : integer(reply));

const unexpected = (what: string): SvcError =>
  new SvcError('internal', undefined, { cause: new TypeError(`Redis answered something else than ${what}`) });
