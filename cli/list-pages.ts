import { type JsonObject, listOf } from './json.ts';
import type { NodeClient } from './node-client.ts';

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
