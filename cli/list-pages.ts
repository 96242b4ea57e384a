import type { CliContext } from './context.ts';
import { isObject, type JsonObject, listOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { print } from './output.ts';
import { wholeNumber } from './read-input.ts';

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The pages of a list. Each continues at the token of the page before, so nothing is missed while the list grows. */
export async function* pagesOf(
  client: NodeClient,
  path: string,
  name: string,
  query: Query,
): AsyncGenerator<JsonObject[]> {
  for (let asked = query; ; ) {
    const answer = await client.json('GET', path, { query: asked, repeatable: true });
    yield listOf(answer, name);
    const { next_page_token: page_token } = answer;
    if (typeof page_token !== 'string') return;
    asked = { ...query, skip: undefined, offset: undefined, page_token };
  }
}

/** The first `limit` entries of a list, read in as many pages as that takes; without a limit one page of default length. */
export async function listed(client: NodeClient, path: string, name: string, query: Query): Promise<JsonObject[]> {
  const most = Number(query.limit ?? 0);
  const items: JsonObject[] = [];
  for await (const page of pagesOf(client, path, name, query)) {
    items.push(...page);
    if (items.length >= most) break;
  }
  return most === 0 ? items : items.slice(0, most);
}

/** Largest page of a log that a node serves. */
const PAGE = 200;

/** Prints a log (`{events, total}`), read page by page: all of it unless `limit` is given. */
export async function printLog(
  { client, output }: CliContext,
  path: string,
  options: { readonly limit?: string; readonly offset?: string },
  detailOf: (event: JsonObject) => string = mainDetail,
): Promise<void> {
  const limit = Number(wholeNumber(options.limit, '--limit', 1) ?? Number.POSITIVE_INFINITY);
  const start = Number(wholeNumber(options.offset, '--offset', 0) ?? 0);
  const items: JsonObject[] = [];
  while (items.length < limit) {
    const query = { limit: String(Math.min(PAGE, limit - items.length)), offset: String(start + items.length) };
    const events = listOf(await client.json('GET', path, { query, repeatable: true }), 'events');
    items.push(...events);
    if (events.length < Number(query.limit)) break;
  }
  const rows = items.map((event) => ({ ...event, detail: detailOf(event) }));
  await print(output, {
    value: items,
    rows: { items: rows, columns: ['sequence', 'recorded_at', 'event_type', 'detail'] },
  });
}

/** The most informative member of an event's payload. */
function mainDetail({ payload }: JsonObject): string {
  const error = isObject(payload) ? textOf(payload.error, 'message') : '';
  const members = ['chunk', 'reason', 'final_output', 'output', 'code_diff', 'action', 'version', 'name'];
  return error || (members.map((key) => textOf(payload, key)).find((text) => text !== '') ?? '');
}
