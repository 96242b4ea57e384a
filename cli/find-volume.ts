import { CliFailure, EXIT } from './failure.ts';
import { listOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const PAGE = 1_000;

/** The id of a volume given by name or id. */
export async function volumeId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  for (let skip = 0; ; skip += PAGE) {
    const query = { limit: String(PAGE), skip: String(skip) };
    const volumes = listOf(await client.json('GET', '/v1/volumes', { query, repeatable: true }), 'volumes');
    const found = volumes.find((volume) => textOf(volume, 'name') === nameOrId);
    if (found !== undefined) return textOf(found, 'id');
    if (volumes.length < PAGE) throw new CliFailure(EXIT.notFound, `there is no volume ${nameOrId}`);
  }
}
