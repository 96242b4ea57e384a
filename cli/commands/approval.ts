import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';
import { readInput, wholeNumber } from '../read-input.ts';

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

/** `svc approval approve ID`: lets a workflow go on. */
export function approvalApprove(approval: Command): void {
  approval
    .command('approve')
    .description('approve a request: its workflow goes on')
    .argument('<id>', 'request id')
    .option('--feedback <text>', 'what the workflow sees as human.feedback; @FILE reads a file, - standard input')
    .option('--by <name>', 'who approves, for the record')
    .action(async (id: string, options: { feedback?: string; by?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const { feedback, by } = options;
      const json = {
        ...(feedback === undefined ? {} : { feedback: await readInput(feedback, '--feedback') }),
        ...(by === undefined ? {} : { approved_by: by }),
      };
      const answer = await client.json('POST', `/v1/human-approvals/${encodeURIComponent(id)}/approve`, { json });
      await print(output, { value: answer, text: `approved request ${id}` });
    });
}

/** `svc approval reject ID --reason TEXT`: sends a workflow down its path for rejections. */
export function approvalReject(approval: Command): void {
  approval
    .command('reject')
    .description('reject a request: its workflow takes its path for rejections')
    .argument('<id>', 'request id')
    .requiredOption('--reason <text>', 'what the workflow sees as human.feedback; @FILE reads a file, - standard input')
    .option('--by <name>', 'who rejects, for the record')
    .action(async (id: string, options: { reason: string; by?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const { by } = options;
      const reason = await readInput(options.reason, '--reason');
      const json = { reason, ...(by === undefined ? {} : { rejected_by: by }) };
      const answer = await client.json('POST', `/v1/human-approvals/${encodeURIComponent(id)}/reject`, { json });
      await print(output, { value: answer, text: `rejected request ${id}` });
    });
}
