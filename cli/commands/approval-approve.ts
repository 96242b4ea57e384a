import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';

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
