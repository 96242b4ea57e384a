import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { readInput, readObject } from '../read-input.ts';
import { showStarted } from '../started.ts';

interface RunOptions {
  readonly input?: string;
  readonly version?: string;
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc agent run AGENT [INTENT]`: an execution from a goal and values, as svc.task.execute starts one. */
export function agentRun(agent: Command): void {
  agent
    .command('run')
    .description('start an execution from a goal and values')
    .argument('<agent>', 'name or id')
    .argument('[intent]', 'the goal; @FILE reads a file, - standard input')
    .option('--input <json>', 'values by name, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the agent; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, intent: string | undefined, options: RunOptions, command: Command) => {
      const context = contextOf(command);
      const id = encodeURIComponent(await agentId(context.client, nameOrId));
      const answer = await context.client.json('POST', `/v1/agents/${id}/execute`, {
        json: {
          ...(intent === undefined ? {} : { intent: await readInput(intent, 'intent') }),
          ...(options.input === undefined ? {} : { input: await readObject(options.input, '--input') }),
          ...(options.version === undefined ? {} : { version: options.version }),
        },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      return showStarted(context, answer, options);
    });
}
