import type { CliContext } from './context.ts';
import { isObject, type JsonObject, listOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { print } from './output.ts';
import { wholeNumber } from './read-input.ts';

type Query = Readonly<Record<string, string | undefined>>;

/** The pages of a list, each behind the one before, by the tokens of the answers: whole also while the list grows. */
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

/** So many entries of a list as `limit` says, however many pages that takes; without it one page of the usual length. */
export async function listed(client: NodeClient, path: string, name: string, query: Query): Promise<JsonObject[]> {
  const most = Number(query.limit ?? 0);
  const items: JsonObject[] = [];
  for await (const page of pagesOf(client, path, name, query)) {
    items.push(...page);
    if (items.length >= most) break;
  }
  return most === 0 ? items : items.slice(0, most);
}

/** The node answers at most so many at once. */
const PAGE = 200;

/** Prints a log page by page (`{events, total}`), whole unless `limit` says less. */
export async function printLog(
  { client, output }: CliContext,
  path: string,
  options: { readonly limit?: string; readonly offset?: string },
  detailOf: (event: JsonObject) => string = whatSaysMost,
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

/** The member of a payload that says most. */
function whatSaysMost({ payload }: JsonObject): string {
  const error = isObject(payload) ? textOf(payload.error, 'message') : '';
  const says = ['chunk', 'reason', 'final_output', 'output', 'code_diff', 'action', 'version', 'name'];
  return error || (says.map((key) => textOf(payload, key)).find((text) => text !== '') ?? '');
}
