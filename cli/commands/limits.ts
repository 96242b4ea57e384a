import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readObject, wholeNumber } from '../read-input.ts';

const USAGE_COLUMNS = ['name', 'window', 'used', 'limit', 'resets_at'];

interface Options {
  readonly subject?: string;
  readonly of?: string;
  readonly tier?: string;
}

/** `svc limits usage`: the caller's, or a user's for operators. */
export function limitsUsage(limits: Command): void {
  limits
    .command('usage')
    .description('what was used of rate limits, and until when: yours, or a user’s for operators')
    .option('--of <tenant>', 'tenant of the user')
    .option('--subject <subject>', 'subject of the user’s token')
    .option('--tier <tier>', 'tier of the user: free, pro, business or enterprise (default: free)')
    .action(async (options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      if ((options.of === undefined) !== (options.subject === undefined)) {
        throw invalid('--of and --subject: expected both or none of them');
      }
      const query = { tenant: options.of, subject: options.subject, tier: options.tier };
      const answer =
        options.of === undefined
          ? await client.json('GET', '/v1/user/rate-limits/usage', { repeatable: true })
          : await client.json('GET', '/v1/admin/rate-limits/usage', { query, repeatable: true });
      await print(output, { value: answer, rows: { items: rowsOf(answer), columns: USAGE_COLUMNS } });
    });
}

function rowsOf(answer: JsonObject): JsonObject[] {
  const { concurrent_executions: running } = answer;
  const counted =
    isObject(running) && textOf(running, 'limit') !== '' ? [{ ...running, name: 'concurrent_executions' }] : [];
  return [...listOf(answer, 'buckets'), ...counted];
}

const OVERRIDE_COLUMNS = ['tenant', 'subject', 'rates', 'updated_at', 'updated_by'];

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
        await print(output, { value: items, rows: { items, columns: OVERRIDE_COLUMNS } });
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
