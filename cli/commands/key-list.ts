import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['name', 'id', 'status', 'owner', 'scopes', 'expires_at', 'last_used_at'];

/** `svc key list`: newest first. */
export function keyList(key: Command): void {
  key
    .command('list')
    .description('list API keys of yours, dead ones too')
    .option('--all', 'of everybody in the tenant, for who administers it')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { all?: boolean; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        ...(options.all === true ? { all: 'true' } : {}),
        limit: wholeNumber(options.limit, '--limit', 1),
      };
      const keys = await listed(client, '/v1/api-keys', 'keys', query);
      const items = keys.map((one) => ({
        ...one,
        owner: textOf(isObject(one.owner) ? one.owner : {}, 'subject'),
        scopes: Array.isArray(one.scopes) ? one.scopes.join(' ') : '',
      }));
      await print(output, { value: keys, rows: { items, columns: COLUMNS } });
    });
}
