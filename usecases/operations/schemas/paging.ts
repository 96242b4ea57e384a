import { z } from 'zod';
import { readToken, tokenOf } from '../../../runtime/documents/pages.ts';
import { invalidField, SvcError } from '../../../runtime/errors.ts';
import { MOST_NEXT_CHARS } from '../../../runtime/ledger/ledger-reader.ts';
import { limitField, pageTokenField, skipField } from './fields.ts';

/** Token of a list; those of the ledger are longer than others. */
export const nextField = z
  .string()
  .min(1)
  .max(MOST_NEXT_CHARS)
  .optional()
  .describe('`next_page_token` of the page before, under the same conditions.');

/** `?next` of lists whose token had that name first; `page_token` is the same. */
export const nextOrTokenFields = { page_token: nextField, next: nextField.describe('Same as `page_token`.') };

interface Asked {
  readonly next?: string | undefined;
  readonly page_token?: string | undefined;
}

/**
 * Reads a page of a list whose token has two names: the caller sends either, the answer has the next one under both. An error about
 * the token has the name that the caller used.
 */
export async function pageByToken<T extends { readonly next?: string | null | undefined }>(
  { next, page_token }: Asked,
  read: (token: string | undefined) => Promise<T>,
): Promise<T & { readonly next_page_token?: string }> {
  const answer = await read(page_token ?? next).catch((thrown: unknown) => {
    const isOfToken = thrown instanceof SvcError && thrown.field === 'next' && page_token !== undefined;
    throw isOfToken ? tokenRefused() : thrown;
  });
  return typeof answer.next === 'string' ? { ...answer, next_page_token: answer.next } : answer;
}

const tokenRefused = (): SvcError =>
  invalidField('page_token', 'expected the next_page_token of an answer to the same list and conditions');

/** Paging of logs, which are numbered from the first entry: by place, or by token as all lists. */
export const logFields = (usual: number, most: number) => ({
  limit: limitField(usual, most),
  offset: skipField,
  skip: skipField.describe('Same as `offset`.'),
  page_token: pageTokenField,
});

interface LogAsked {
  readonly limit: number;
  readonly offset: number;
  readonly skip: number;
  readonly page_token?: string | undefined;
}

/** Reads a page of a log; the answer has the token of the next one. `of` names the log, whose tokens no other log takes. */
export async function logPage<Log extends { readonly events: readonly unknown[]; readonly total: number }>(
  query: LogAsked,
  { most, of }: { readonly most: number; readonly of: string },
  read: (page: { readonly limit: number; readonly offset: number }) => Promise<Log>,
) {
  const limit = Math.min(query.limit, most);
  const skip = query.offset === 0 ? query.skip : query.offset;
  const [offset = skip] = readToken(of, { skip, pageToken: query.page_token }) ?? [];
  if (typeof offset !== 'number')
    throw new SvcError('invalid_argument', 'page_token: expected the next_page_token of an answer to the same log');
  const found = await read({ limit, offset });
  const end = offset + found.events.length;
  const isMore = end > offset && end < found.total;
  return { ...found, limit, offset, ...(isMore ? { next_page_token: tokenOf(of, [end]) } : {}) };
}
