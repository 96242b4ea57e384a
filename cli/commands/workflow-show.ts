import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { forReader } from '../printable.ts';
import { workflowPath } from '../workflow-path.ts';

/** `svc workflow show NAME|ID`: a workflow with its manifest. */
export function workflowShow(workflow: Command): void {
  workflow
    .command('show')
    .alias('describe')
    .description('show a workflow with its manifest')
    .argument('<workflow>', 'name or id')
    .option('--version <version>', 'version; default the newest')
    .action(async (nameOrId: string, options: { version?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { version: options.version };
      const path = await workflowPath(client, nameOrId);
      const { manifest, manifest_yaml, ...summary } = await client.json('GET', path, { query, repeatable: true });
      if (output === 'json' || output === 'yaml') return print(output, { value: { ...summary, manifest } });
      await print(output, { value: summary });
      if (output === 'text' && typeof manifest_yaml === 'string')
        process.stdout.write(`\n${forReader(manifest_yaml.trimEnd())}\n`);
    });
}
