import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { CliFailure, EXIT, invalid } from '../../failure.ts';
import { isObject, type JsonObject, textOf, textsOf } from '../../json.ts';
import { print } from '../../output.ts';
import { printDone, printList } from '../../print-answer.ts';
import { readSecret, several, wholeNumber } from '../../read-input.ts';

const PATH = '/v1/api-keys';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `svc key …`: API keys. */
export function key(program: Command): void {
  const group = program.command('key').description('create, list, validate and revoke API keys');
  create(group);
  list(group);
  group
    .command('revoke')
    .description('revoke an API key; all nodes refuse it within a second')
    .argument('<id>', 'UUID of the key')
    .action((id: string, _options: object, command: Command) =>
      printDone(
        command,
        ['DELETE', `${PATH}/${encodeURIComponent(id)}`],
        { repeatable: true },
        (answer) => `revoked API key ${textOf(answer, 'id')} (${textOf(answer, 'name')})`,
      ),
    );
  validate(group);
}

interface CreateOptions {
  readonly scope: readonly string[];
  readonly expiresIn?: string;
}

/** `svc key create NAME`: standard output holds nothing but the key, so that it can be piped. */
function create(group: Command): void {
  group
    .command('create')
    .description('create an API key that acts as you; the key is shown only once')
    .argument('<name>', 'what the key is for')
    .option(
      '--scope <scope>',
      'such as executions:read, agents:*, tools:call; may be repeated (default: *)',
      several,
      [],
    )
    .option('--expires-in <time>', 'such as 12h or 30d (default: 90d)')
    .action(async (name: string, { scope, expiresIn }: CreateOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const scopes = scope.length === 0 ? undefined : scope;
      const answer = await client.json('POST', PATH, { json: { name, scopes, expires_in: secondsOf(expiresIn) } });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`API key ${textOf(answer, 'id')}, valid until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'key') });
    });
}

export function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds === 0) throw invalid(`--expires-in: expected a time such as 45m, 12h or 30d, got ${text}`);
  return seconds;
}

const scopesIn = (found: JsonObject): string => textsOf(found, 'scopes').join(' ');

/** `svc key list`: newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list your API keys, including expired and revoked ones')
    .option('--all', 'keys of all users of the tenant; for administrators')
    .option('--limit <count>', 'maximum number of keys')
    .action(async (options: { all?: true; limit?: string }, command: Command) => {
      await printList(command, {
        path: PATH,
        member: 'keys',
        query: { all: options.all && 'true', limit: wholeNumber(options.limit, '--limit', 1) },
        columns: ['name', 'id', 'status', 'owner', 'scopes', 'expires_at', 'last_used_at'],
        row: (one) => ({ ...one, owner: textOf(one.owner, 'subject'), scopes: scopesIn(one) }),
      });
    });
}

/** `svc key validate`: exit code 0 for an active key of the tenant, else 1. */
function validate(group: Command): void {
  group
    .command('validate')
    .description('check whether a text is an active API key of the tenant')
    .argument('[key]', '- for standard input, or @FILE', '-')
    .action(async (given: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const text = (await readSecret(given, 'KEY')).trim();
      const answer = await client.json('POST', `${PATH}/validate`, { json: { key: text }, repeatable: true });
      const found = isObject(answer.key) ? answer.key : {};
      if (answer.valid !== true) throw new CliFailure(EXIT.notFound, 'this is not an active API key of the tenant');
      const line = `API key ${textOf(found, 'id')} (${textOf(found, 'name')}), scopes ${scopesIn(found)}`;
      await print(output, { value: answer, text: `${line}, valid until ${textOf(found, 'expires_at')}` });
    });
}
