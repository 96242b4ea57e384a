import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { isObject, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';
import { secondsOf } from './key.ts';

const PATH = '/v1/cluster/join-tokens';
const COLUMNS = ['id', 'status', 'names', 'tags', 'addresses', 'used', 'refusals', 'expires_at'];

interface Options {
  readonly name: readonly string[];
  readonly tag: readonly string[];
  readonly address: readonly string[];
  readonly role: readonly string[];
  readonly uses?: string;
  readonly expiresIn?: string;
}

const several = (one: string, all: readonly string[]): readonly string[] => [...all, one];

/** `svc node token`: what lets a new node into the fleet. */
export function nodeToken(node: Command): void {
  const token = node.command('token').description('join tokens: create, list, revoke');
  create(token);
  list(token);
  revoke(token);
}

/** Prints the token alone, so that it can be piped; it is shown this once. */
function create(token: Command): void {
  token
    .command('create')
    .description('make a join token; one node joins with it, within the hour, unless said otherwise')
    .option('--name <id>', 'node id it is for, also with * at the end; may be repeated (default all)', several, [])
    .option('--tag <tag>', 'tag that the node may have; may be repeated (default none)', several, [])
    .option('--address <address>', 'where it may be reached: address, network, host; may be repeated', several, [])
    .option('--role <role>', 'worker or hybrid; may be repeated (default: worker)', several, [])
    .option('--uses <number>', 'how many nodes may join with it (default: 1)')
    .option('--expires-in <time>', 'such as 30m or 7d (default: 1h)')
    .action(async (options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const { name: names, tag: tags, address: addresses, uses, expiresIn } = options;
      const json = {
        ...{ names, tags, addresses },
        ...(options.role.length === 0 ? {} : { roles: options.role.map(roleOf) }),
        ...(uses === undefined ? {} : { uses: Number(wholeNumber(uses, '--uses', 1)) }),
        ...(expiresIn === undefined ? {} : { expires_in: secondsOf(expiresIn) }),
      };
      const answer = await client.json('POST', PATH, { json });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`join token ${textOf(answer, 'id')}, good until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'token') });
    });
}

function list(token: Command): void {
  token
    .command('list')
    .description('list join tokens and how often they were used, newest first')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const tokens = await listed(client, PATH, 'join_tokens', { limit: wholeNumber(options.limit, '--limit', 1) });
      const items = tokens.map((one) => ({
        ...one,
        ...Object.fromEntries(['names', 'tags', 'addresses'].map((field) => [field, joined(one[field])])),
        used: `${Array.isArray(one.used_by) ? one.used_by.length : 0} of ${String(one.uses)}`,
      }));
      await print(output, { value: tokens, rows: { items, columns: COLUMNS } });
    });
}

function revoke(token: Command): void {
  token
    .command('revoke')
    .description('revoke a join token: nodes that came in by it get no new node token either')
    .argument('<id>', 'UUID of the join token')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `${PATH}/${encodeURIComponent(id)}`, { repeatable: true });
      const revoked = isObject(answer) ? textOf(answer, 'id') : id;
      await print(output, { value: answer, text: `revoked join token ${revoked}` });
    });
}

function roleOf(given: string): string {
  const role = given.toUpperCase();
  if (role !== 'WORKER' && role !== 'HYBRID') throw invalid(`--role: expected worker or hybrid, got ${given}`);
  return role;
}

const joined = (value: unknown): string => (Array.isArray(value) ? value.join(' ') : '');
