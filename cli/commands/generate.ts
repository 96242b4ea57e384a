import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { startOnce } from '../node-client.ts';
import { readInput } from '../read-input.ts';
import { type Shown, showStarted } from '../tool-call.ts';
import type { CatalogKind } from './catalog.ts';

/** `svc agent generate` and `svc workflow generate`: an agent writes a manifest from a description and deploys it. */
export function generate(group: Command, kind: CatalogKind): void {
  group
    .command('generate')
    .description(`let an agent write and deploy ${kind === 'agent' ? 'an agent' : 'a workflow'} from a description`)
    .argument('<description>', 'what it should do; @FILE reads a file, - standard input')
    .option('--follow', 'show events of the authoring agent until it ends')
    .option('--wait', 'wait for the end and print what was deployed')
    .action(async (description: string, options: Shown, command: Command) => {
      const context = contextOf(command);
      const json = { input: await readInput(description, 'DESCRIPTION') };
      return showStarted(context, await context.client.json('POST', `/v1/${kind}s/generate`, startOnce(json)), options);
    });
}
