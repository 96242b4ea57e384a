import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { isObject, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { readSecret, wholeNumber } from '../read-input.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

interface Options {
  readonly scope: readonly string[];
  readonly expiresIn?: string;
}

/** `svc key create NAME`: prints the key alone, so that it can be piped; it is shown this once. */
export function keyCreate(key: Command): void {
  key
    .command('create')
    .description('make an API key that acts as its maker; it is shown this once')
    .argument('<name>', 'what it is for')
    .option(
      '--scope <scope>',
      'such as executions:read, agents:*, tools:call, *; may be repeated (default: *)',
      (one: string, all: readonly string[]) => [...all, one],
      [],
    )
    .option('--expires-in <time>', 'such as 12h or 30d (default: 90d)')
    .action(async (name: string, options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const json = {
        name,
        ...(options.scope.length === 0 ? {} : { scopes: options.scope }),
        ...(options.expiresIn === undefined ? {} : { expires_in: secondsOf(options.expiresIn) }),
      };
      const answer = await client.json('POST', '/v1/api-keys', { json });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`API key ${textOf(answer, 'id')}, good until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'key') });
    });
}

export function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds === 0) throw invalid(`--expires-in: expected a time such as 45m, 12h or 30d, got ${text}`);
  return seconds;
}

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

/** `svc key validate`: exit code 0 for a live key of the tenant, else 1. The key is no argument, which others could see. */
export function keyValidate(key: Command): void {
  key
    .command('validate')
    .description('say whether a text is a live API key of the tenant')
    .argument('[key]', '`-` for standard input, or @FILE', '-')
    .action(async (given: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const text = (await readSecret(given, 'key')).trim();
      const answer = await client.json('POST', '/v1/api-keys/validate', { json: { key: text }, repeatable: true });
      const found = isObject(answer.key) ? answer.key : {};
      if (answer.valid !== true) throw new CliFailure(EXIT.notFound, 'this is no live API key of the tenant');
      const scopes = Array.isArray(found.scopes) ? found.scopes.join(' ') : '';
      const line = `API key ${textOf(found, 'id')} (${textOf(found, 'name')}), scopes ${scopes}`;
      await print(output, { value: answer, text: `${line}, good until ${textOf(found, 'expires_at')}` });
    });
}

/** `svc key revoke ID`. */
export function keyRevoke(key: Command): void {
  key
    .command('revoke')
    .description('revoke an API key: no node takes it after a second')
    .argument('<id>', 'UUID of the key')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `/v1/api-keys/${encodeURIComponent(id)}`, { repeatable: true });
      await print(output, {
        value: answer,
        text: `revoked API key ${textOf(answer, 'id')} (${textOf(answer, 'name')})`,
      });
    });
}
