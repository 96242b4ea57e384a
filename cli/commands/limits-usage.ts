import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';

const COLUMNS = ['name', 'window', 'used', 'limit', 'resets_at'];

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
      await print(output, { value: answer, rows: { items: rowsOf(answer), columns: COLUMNS } });
    });
}

function rowsOf(answer: JsonObject): JsonObject[] {
  const { concurrent_executions: running } = answer;
  const counted =
    isObject(running) && textOf(running, 'limit') !== '' ? [{ ...running, name: 'concurrent_executions' }] : [];
  return [...listOf(answer, 'buckets'), ...counted];
}
