import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { printDone, printList } from '../print-answer.ts';
import { readObject, wholeNumber } from '../read-input.ts';

/** `svc limits …`: rate limits. */
export function limits(program: Command): void {
  const group = program.command('limits').description('show rate limit usage, and override rate limits');
  usage(group);
  const override = group.command('override').description('rate limits set at run time: set, list, remove');
  setOverride(override);
  listOverrides(override);
  removeOverride(override);
}

interface UsageOptions {
  readonly subject?: string;
  readonly of?: string;
  readonly tier?: string;
}

/** `svc limits usage`: the caller's, or for operators that of a user. */
function usage(group: Command): void {
  group
    .command('usage')
    .description('show how much of your rate limits is used and when they reset; operators may name any user')
    .option('--of <tenant>', 'tenant of the user')
    .option('--subject <subject>', "subject of the user's token")
    .option('--tier <tier>', 'tier of the user: free, pro, business or enterprise (default: free)')
    .action(async ({ of, subject, tier }: UsageOptions, command: Command) => {
      const { client, output } = contextOf(command);
      if ((of === undefined) !== (subject === undefined))
        throw invalid('--of and --subject: expected both or none of them');
      const path = of === undefined ? '/v1/user/rate-limits/usage' : '/v1/admin/rate-limits/usage';
      const query = of === undefined ? {} : { tenant: of, subject, tier };
      const answer = await client.json('GET', path, { query, repeatable: true });
      const columns = ['name', 'window', 'used', 'limit', 'resets_at'];
      await print(output, { value: answer, rows: { items: rowsOf(answer), columns } });
    });
}

function rowsOf(answer: JsonObject): JsonObject[] {
  const { concurrent_executions: running } = answer;
  const isBounded = isObject(running) && textOf(running, 'limit') !== '';
  return [...listOf(answer, 'buckets'), ...(isBounded ? [{ ...running, name: 'concurrent_executions' }] : [])];
}

const PATH = '/v1/admin/rate-limits/overrides';

const whose = (tenant: string, subject: string | undefined): string =>
  subject === undefined ? `each user of ${tenant}` : `${subject} of ${tenant}`;

function setOverride(override: Command): void {
  override
    .command('set')
    .description('set the rate limits of a user, or of each user of a tenant; in effect within 2 s')
    .argument('<tenant>', 'tenant slug')
    .argument('[subject]', "subject of the user's token")
    .requiredOption(
      '--rates <json>',
      'such as {"agent_executions": {"minute": 20}}; @FILE reads a file, - standard input',
    )
    .action(async (tenant: string, subject: string | undefined, options: { rates: string }, command: Command) => {
      const json = { tenant, subject, rates: await readObject(options.rates, '--rates') };
      await printDone(command, ['PUT', PATH], { json, repeatable: true }, `set rates of ${whose(tenant, subject)}`);
    });
}

type Target = [tenant: string | undefined, subject: string | undefined];

function listOverrides(override: Command): void {
  override
    .command('list')
    .description('list rate limits that were set at run time')
    .argument('[tenant]', 'tenant slug')
    .argument('[subject]', "subject of a user's token")
    .option('--limit <count>', 'maximum number of overrides')
    .action(async (...[tenant, subject, options, command]: [...Target, { limit?: string }, Command]) => {
      const query = { tenant, subject, limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['tenant', 'subject', 'rates', 'updated_at', 'updated_by'];
      await printList(command, { path: PATH, member: 'overrides', query, columns });
    });
}

function removeOverride(override: Command): void {
  override
    .command('remove')
    .description('remove the rate limits that were set for a user or a tenant')
    .argument('<tenant>', 'tenant slug')
    .argument('[subject]', "subject of the user's token")
    .action((tenant: string, subject: string | undefined, _options: object, command: Command) => {
      const done = (answer: object): string => `removed rates of ${whose(textOf(answer, 'tenant'), subject)}`;
      return printDone(command, ['DELETE', PATH], { query: { tenant, subject } }, done);
    });
}
