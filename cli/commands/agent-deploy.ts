import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { warn } from '../live-view-run.ts';
import { print } from '../output.ts';
import { readText } from '../read-input.ts';

/** `svc agent deploy FILE`: registers a manifest; warnings go to standard error. */
export function agentDeploy(agent: Command): void {
  agent
    .command('deploy')
    .description('deploy the agent of a manifest')
    .argument('<file>', 'YAML manifest; - for standard input')
    .option('--force', 'overwrite the same name and version')
    .option('--scope <scope>', 'user, tenant or global; default tenant')
    .action(async (file: string, options: { force?: true; scope?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', '/v1/agents', {
        body: { type: 'application/yaml', text: await readText(file, 'FILE') },
        query: { force: options.force === true ? 'true' : undefined, scope: options.scope },
      });
      if (output === 'text' || output === 'table') warn(answer);
      await print(output, { value: answer, text: `deployed agent ${textOf(answer, 'agent_id')}` });
    });
}
