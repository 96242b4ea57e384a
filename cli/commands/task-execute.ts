import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { textOf } from '../json.ts';
import { readInput, readObject } from '../read-input.ts';
import { showStarted } from '../started.ts';

interface ExecuteOptions {
  readonly input?: string;
  readonly context?: string;
  readonly version?: string;
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc task execute AGENT`: starts an execution; `--follow` shows its events, `--wait` prints its result. */
export function taskExecute(task: Command): void {
  task
    .command('execute')
    .description('start an execution of an agent')
    .argument('<agent>', 'name or id')
    .option('--input <text>', 'task input; @FILE reads a file, - standard input')
    .option('--context <json>', 'values for the prompt template, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the agent; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, options: ExecuteOptions, command: Command) => {
      const context = contextOf(command);
      const input = await readInput(options.input ?? '', '--input');
      const values = options.context === undefined ? undefined : await readObject(options.context, '--context');
      const answer = await context.client.json('POST', '/v1/executions', {
        json: {
          agent_id: await agentId(context.client, nameOrId),
          input,
          ...(options.version === undefined ? {} : { version: options.version }),
          ...(values === undefined ? {} : { context: values }),
        },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      const waits = textOf(answer.waiting_for, 'reason');
      if (waits !== '') process.stderr.write(`${waits}\n`);
      return showStarted(context, answer, options);
    });
}
