import { SvcError } from '../runtime/errors.ts';

/** A list holds at most so many entries. */
export const MAX_PAGE = 1_000;

/** Throws `invalid_argument` naming the field. */
export function checkPage(limit: number, skip: number, skipName: string): { limit: number; skip: number } {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw new SvcError('invalid_argument', `limit: expected 1 to ${MAX_PAGE}`, { field: 'limit' });
  if (!Number.isInteger(skip) || skip < 0 || skip > 1_000_000)
    throw new SvcError('invalid_argument', `${skipName}: expected 0 to 1000000`, { field: skipName });
  return { limit, skip };
}
