import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { print } from '../output.ts';
import { forReader } from '../printable.ts';

/** `svc agent show NAME|ID`: an agent with its manifest. */
export function agentShow(agent: Command): void {
  agent
    .command('show')
    .description('show an agent with its manifest')
    .argument('<agent>', 'name or id')
    .option('--version <version>', 'version; default the newest')
    .action(async (nameOrId: string, options: { version?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await agentId(client, nameOrId);
      const query = { version: options.version };
      const shown = await client.json('GET', `/v1/agents/${id}`, { query, repeatable: true });
      const { manifest, manifest_yaml, ...summary } = shown;
      if (output === 'json' || output === 'yaml') return print(output, { value: { ...summary, manifest } });
      await print(output, { value: summary });
      if (output === 'text' && typeof manifest_yaml === 'string')
        process.stdout.write(`\n${forReader(manifest_yaml.trimEnd())}\n`);
    });
}
