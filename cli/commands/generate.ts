import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';
import { watchExecution } from '../watch.ts';

interface GenerateOptions {
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc agent generate` and `svc workflow generate`: an agent writes what the description says, and deploys it. */
const generate = (kind: 'agent' | 'workflow') => (group: Command) => {
  group
    .command('generate')
    .description(`have ${kind === 'agent' ? 'an agent' : 'a workflow'} written from plain words, and deployed`)
    .argument('<description>', 'what it should do; @FILE reads a file, - standard input')
    .option('--follow', 'show the events of the author as they come')
    .option('--wait', 'wait for the end and print what was deployed')
    .action(async (description: string, options: GenerateOptions, command: Command) => {
      const context = contextOf(command);
      const answer = await context.client.json('POST', `/v1/${kind}s/generate`, {
        json: { input: await readInput(description, 'description') },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      const executionId = textOf(answer, 'execution_id');
      if (!options.follow && !options.wait) return print(context.output, { value: answer, text: executionId });
      const show = options.follow ? (options.wait ? 'both' : 'events') : 'result';
      if (show === 'result') process.stderr.write(`execution ${executionId}\n`);
      return watchExecution(context, executionId, { after: 0, show });
    });
};

export const agentGenerate = generate('agent');
export const workflowGenerate = generate('workflow');
