import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['id', 'execution_id', 'created_at', 'timeout_seconds', 'prompt'];

/** `svc approval list`: what waits for a human, oldest first. */
export function approvalList(approval: Command): void {
  approval
    .command('list')
    .description('list what waits for a human, oldest first')
    .option('--limit <count>', 'at most so many')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const answer = await client.json('GET', '/v1/human-approvals', { query, repeatable: true });
      const items = listOf(answer, 'pending_requests');
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}
