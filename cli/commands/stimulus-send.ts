import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';

/** `svc stimulus send CONTENT`: routes it to a workflow and prints the id of the execution that was started. */
export function stimulusSend(stimulus: Command): void {
  stimulus
    .command('send')
    .description('send a stimulus: its route or the router agent says which workflow starts')
    .argument('<content>', 'natural language or JSON; @FILE reads a file, - standard input')
    .option('--source <name>', 'where it comes from', 'http_api')
    .option('--key <key>', 'idempotency key: a repeat within 24 hours is refused')
    .action(async (given: string, options: { source: string; key?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const { source, key } = options;
      const content = await readInput(given, 'content');
      const json = { source, content, ...(key === undefined ? {} : { idempotency_key: key }) };
      // With a key a second one does no harm, but the answer would be that it is a duplicate: it is sent once.
      const answer = await client.json('POST', '/v1/stimuli', { json });
      await print(output, { value: answer, text: textOf(answer, 'workflow_execution_id') });
    });
}
