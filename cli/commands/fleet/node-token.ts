import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { invalid } from '../../failure.ts';
import { textOf, textsOf } from '../../json.ts';
import { print } from '../../output.ts';
import { printDone, printList } from '../../print-answer.ts';
import { several, wholeNumber } from '../../read-input.ts';
import { secondsOf } from '../access/key.ts';

const PATH = '/v1/cluster/join-tokens';

interface Options {
  readonly name: readonly string[];
  readonly tag: readonly string[];
  readonly address: readonly string[];
  readonly role: readonly string[];
  readonly uses?: string;
  readonly expiresIn?: string;
}

/** `svc node token …`: join tokens, with which new nodes join the fleet. */
export function nodeToken(node: Command): void {
  const group = node.command('token').description('join tokens: create, list, revoke');
  create(group);
  list(group);
  group
    .command('revoke')
    .description('revoke a join token; nodes that joined with it get no new node tokens')
    .argument('<id>', 'UUID of the join token')
    .action((id: string, _options: object, command: Command) => {
      const call = { repeatable: true };
      const done = (answer: object): string => `revoked join token ${textOf(answer, 'id')}`;
      return printDone(command, ['DELETE', `${PATH}/${encodeURIComponent(id)}`], call, done);
    });
}

/** Standard output holds nothing but the token, so that it can be piped. */
function create(group: Command): void {
  group
    .command('create')
    .description('create a join token; by default for one node, within one hour')
    .option(
      '--name <id>',
      'allowed node id, * at the end matches any ending; may be repeated (default: all)',
      several,
      [],
    )
    .option('--tag <tag>', 'tag that the node may have; may be repeated (default: none)', several, [])
    .option('--address <address>', 'allowed address, network or host name of the node; may be repeated', several, [])
    .option('--role <role>', 'worker or hybrid; may be repeated (default: worker)', several, [])
    .option('--uses <count>', 'number of nodes that may join with it (default: 1)')
    .option('--expires-in <time>', 'such as 30m or 7d (default: 1h)')
    .action(async ({ name, tag, address, role, uses, expiresIn }: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const json = {
        names: name,
        tags: tag,
        addresses: address,
        roles: role.length === 0 ? undefined : role.map(roleOf),
        uses: uses === undefined ? undefined : Number(wholeNumber(uses, '--uses', 1)),
        expires_in: secondsOf(expiresIn),
      };
      const answer = await client.json('POST', PATH, { json });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`join token ${textOf(answer, 'id')}, valid until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'token') });
    });
}

function list(group: Command): void {
  group
    .command('list')
    .description('list join tokens and how often they were used, newest first')
    .option('--limit <count>', 'maximum number of tokens')
    .action(async (options: { limit?: string }, command: Command) => {
      await printList(command, {
        path: PATH,
        member: 'join_tokens',
        query: { limit: wholeNumber(options.limit, '--limit', 1) },
        columns: ['id', 'status', 'names', 'tags', 'addresses', 'used', 'refusals', 'expires_at'],
        row: (one) => ({
          ...one,
          ...Object.fromEntries(['names', 'tags', 'addresses'].map((field) => [field, textsOf(one, field).join(' ')])),
          used: `${Array.isArray(one.used_by) ? one.used_by.length : 0} of ${String(one.uses)}`,
        }),
      });
    });
}

function roleOf(given: string): string {
  const role = given.toUpperCase();
  if (role !== 'WORKER' && role !== 'HYBRID') throw invalid(`--role: expected worker or hybrid, got ${given}`);
  return role;
}
