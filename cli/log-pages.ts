import type { CliContext } from './context.ts';
import { isObject, type JsonObject, listOf, textOf } from './json.ts';
import { print } from './output.ts';
import { wholeNumber } from './read-input.ts';

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
