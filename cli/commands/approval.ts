import type { Command } from 'commander';
import { printDone, printList } from '../print-answer.ts';
import { readInput, wholeNumber } from '../read-input.ts';

const PATH = '/v1/human-approvals';

/** `svc approval …`: approvals that workflows wait for. */
export function approval(program: Command): void {
  const group = program.command('approval').description('list and answer pending approvals');
  group
    .command('list')
    .description('list pending approvals, oldest first')
    .option('--limit <count>', 'maximum number of approvals')
    .action(async (options: { limit?: string }, command: Command) => {
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['id', 'execution_id', 'created_at', 'timeout_seconds', 'prompt'];
      await printList(command, { path: PATH, member: 'pending_requests', query, columns });
    });
  group
    .command('approve')
    .description('approve a request; its workflow continues')
    .argument('<id>', 'request id')
    .option('--feedback <text>', 'becomes human.feedback in the workflow; @FILE reads a file, - standard input')
    .option('--by <name>', 'who approves, for the record')
    .action(async (id: string, { feedback, by }: { feedback?: string; by?: string }, command: Command) => {
      const text = feedback === undefined ? undefined : await readInput(feedback, '--feedback');
      await answer(command, id, 'approve', { feedback: text, approved_by: by }, `approved request ${id}`);
    });
  group
    .command('reject')
    .description('reject a request; its workflow takes the transition for rejections')
    .argument('<id>', 'request id')
    .requiredOption('--reason <text>', 'becomes human.feedback in the workflow; @FILE reads a file, - standard input')
    .option('--by <name>', 'who rejects, for the record')
    .action(async (id: string, { reason, by }: { reason: string; by?: string }, command: Command) => {
      const json = { reason: await readInput(reason, '--reason'), rejected_by: by };
      await answer(command, id, 'reject', json, `rejected request ${id}`);
    });
}

const answer = (command: Command, id: string, verb: string, json: object, done: string): Promise<void> =>
  printDone(command, ['POST', `${PATH}/${encodeURIComponent(id)}/${verb}`], { json }, done);
