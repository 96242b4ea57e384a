import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';

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
