import { CliFailure, EXIT } from './failure.ts';
import { textOf } from './json.ts';
import { pagesOf } from './list-pages.ts';
import type { NodeClient } from './node-client.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const PAGE = 1_000;

/** The id of a volume given by name or id. */
export async function volumeId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  for await (const volumes of pagesOf(client, '/v1/volumes', 'volumes', { limit: String(PAGE) })) {
    const found = volumes.find((volume) => textOf(volume, 'name') === nameOrId);
    if (found !== undefined) return textOf(found, 'id');
  }
  throw new CliFailure(EXIT.notFound, `there is no volume ${nameOrId}`);
}
