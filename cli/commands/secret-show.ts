import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['path', 'reference', 'version', 'updated_at', 'updated_by'];

export const secretUrl = (path: string): string => `/v1/secrets/${encodeURIComponent(path)}`;

/** `svc secret get PATH`: versions and times; no value ever comes out. */
export function secretGet(secret: Command): void {
  secret
    .command('get')
    .description('show versions and times of a secret; its value is never shown')
    .argument('<path>', 'such as db/password')
    .action(async (path: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      await print(output, { value: await client.json('GET', secretUrl(path), { repeatable: true }) });
    });
}

/** `svc secret list`. */
export function secretList(secret: Command): void {
  secret
    .command('list')
    .description('list secrets of the tenant on this node')
    .option('--prefix <path>', 'only paths that begin like this')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { prefix?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { prefix: options.prefix, limit: wholeNumber(options.limit, '--limit', 1) };
      const items = listOf(await client.json('GET', '/v1/secrets', { query, repeatable: true }), 'secrets');
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

/** `svc secret delete PATH`. */
export function secretDelete(secret: Command): void {
  secret
    .command('delete')
    .description('delete a secret with all its versions, or one earlier version')
    .argument('<path>', 'such as db/password')
    .option('--version-number <number>', 'only this earlier version')
    .action(async (path: string, options: { versionNumber?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const version = wholeNumber(options.versionNumber, '--version-number', 1);
      const answer = await client.json('DELETE', secretUrl(path), { query: { version } });
      const what = version === undefined ? 'secret' : `version ${version} of secret`;
      await print(output, { value: answer, text: `deleted ${what} ${textOf(answer, 'path')}` });
    });
}
