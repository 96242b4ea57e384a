import { createHash } from 'node:crypto';
import type { Collection, Find, Position, StoredDocument } from '../documents.ts';
import { invalidField } from '../errors.ts';
import { type Json, jsonOrNull } from '../json.ts';
import { FIND_LIMIT, isScalar, positionOf } from './document-query.ts';

/** Size and start of a page: the beginning, behind `skip` entries, or behind the page that returned the token. */
export interface PageAsked {
  readonly limit: number;
  readonly skip?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** Entries of a list, with the token for the next page when there was an entry behind them. */
export interface Page<T> {
  readonly items: T[];
  readonly next_page_token?: string;
}

const FORMAT = 1;
export const MOST_TOKEN_CHARS = 4_096;

/**
 * Reads a page of the named list. A reader that follows the tokens gets each entry that stays in the list on one page,
 * whatever else is written; an entry whose place in the order changes may appear twice or not at all. Throws
 * `invalid_argument` naming `page_token` for a token of another list or of other conditions.
 */
export async function pageOf<T extends StoredDocument>(
  collection: Pick<Collection<T>, 'find'>,
  list: string,
  of: Omit<Find, 'limit' | 'skip' | 'after'>,
  { limit, skip = 0, pageToken }: PageAsked,
): Promise<Page<T>> {
  const what = [list, of.tenant, of.where ?? {}, of.sort ?? []];
  const after = readToken(what, { skip, pageToken });
  const most = Math.min(limit + 1, FIND_LIMIT);
  const found = await collection.find({ ...of, limit: most, ...(after === undefined ? { skip } : { after }) });
  const items = found.slice(0, limit);
  const last = items.at(-1);
  if (last === undefined || found.length < most) return { items };
  const position = positionOf(of, last);
  // A page of the largest size has no room for the entry behind it.
  if (most === limit && (await collection.find({ ...of, limit: 1, after: position })).length === 0) return { items };
  return { items, next_page_token: tokenOf(what, position) };
}

/** Converts each entry of a page to its public form. */
export const shownPage = <T, Shown>({ items, ...next }: Page<T>, show: (item: T) => Shown): Page<Shown> => ({
  items: items.map(show),
  ...next,
});

/** Builds a token. `what` identifies the list and its conditions; the reader must pass the same. */
export const tokenOf = (what: unknown, position: Position): string =>
  Buffer.from(JSON.stringify([FORMAT, digestOf(what), ...position])).toString('base64url');

/**
 * The position in a token; undefined without a token. It only selects a part of what the caller may see and grants no access.
 * `field` names the token in errors.
 */
export function readToken(
  what: unknown,
  { skip = 0, pageToken }: Omit<PageAsked, 'limit'>,
  field = 'page_token',
): Position | undefined {
  if (pageToken === undefined) return undefined;
  if (skip !== 0)
    throw invalidField(field, 'expected no skip or offset beside it: the token says where the page begins');
  const [format, digest, ...position] = partsOf(pageToken);
  if (format !== FORMAT || digest !== digestOf(what) || !position.every(isScalar))
    throw invalidField(
      field,
      `expected the ${field === 'next' ? 'next' : 'next_page_token'} of an answer to the same list and conditions`,
    );
  return position;
}

function partsOf(token: string): Json[] {
  const parts = jsonOrNull(Buffer.from(token.slice(0, MOST_TOKEN_CHARS), 'base64url').toString());
  return Array.isArray(parts) ? parts : [];
}

const digestOf = (what: unknown): string =>
  createHash('sha256').update(JSON.stringify(what)).digest('base64url').slice(0, 16);

/** The order of a list by a time, newest first; entries of one moment by their ids. */
export const newestFirst = <Time extends string>(time: Time) =>
  [
    [time, 'desc'],
    ['id', 'desc'],
  ] as const;
