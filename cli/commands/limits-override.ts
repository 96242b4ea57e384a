import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readObject, wholeNumber } from '../read-input.ts';

const COLUMNS = ['tenant', 'subject', 'rates', 'updated_at', 'updated_by'];
const PATH = '/v1/admin/rate-limits/overrides';

const whose = (tenant: string, subject: string | undefined): string =>
  subject === undefined ? `each user of ${tenant}` : `${subject} of ${tenant}`;

/** `svc limits override set | list | remove`. */
export function limitsOverride(limits: Command): void {
  const override = limits
    .command('override')
    .description('rates of users and tenants, set at run time: set, list, remove');
  for (const add of [overrideSet, overrideList, overrideRemove]) add(override);
}

function overrideSet(override: Command): void {
  override
    .command('set')
    .description('set the rates of a user or of each user of a tenant, in effect within 2 s')
    .argument('<tenant>', 'slug')
    .argument('[subject]', 'of the user’s token')
    .requiredOption('--rates <json>', 'such as {"agent_executions": {"minute": 20}}; @FILE, or - for standard input')
    .action(async (tenant: string, subject: string | undefined, options: { rates: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const rates = await readObject(options.rates, '--rates');
      const json = { tenant, ...(subject === undefined ? {} : { subject }), rates };
      const answer = await client.json('PUT', PATH, { json, repeatable: true });
      await print(output, { value: answer, text: `set rates of ${whose(tenant, subject)}` });
    });
}

function overrideList(override: Command): void {
  override
    .command('list')
    .description('list rates that were set at run time')
    .argument('[tenant]', 'slug')
    .argument('[subject]', 'of a user’s token')
    .option('--limit <number>', 'at most so many')
    .action(
      async (
        tenant: string | undefined,
        subject: string | undefined,
        options: { limit?: string },
        command: Command,
      ) => {
        const { client, output } = contextOf(command);
        const query = { tenant, subject, limit: wholeNumber(options.limit, '--limit', 1) };
        const items = listOf(await client.json('GET', PATH, { query, repeatable: true }), 'overrides');
        await print(output, { value: items, rows: { items, columns: COLUMNS } });
      },
    );
}

function overrideRemove(override: Command): void {
  override
    .command('remove')
    .description('take back the rates that were set for a user or a tenant')
    .argument('<tenant>', 'slug')
    .argument('[subject]', 'of the user’s token')
    .action(async (tenant: string, subject: string | undefined, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', PATH, { query: { tenant, subject } });
      await print(output, { value: answer, text: `removed rates of ${whose(textOf(answer, 'tenant'), subject)}` });
    });
}
