import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';

/** `svc workflow promote NAME`: user to tenant, tenant to global. */
export function workflowPromote(workflow: Command): void {
  workflow
    .command('promote')
    .description('give a workflow a wider scope: user to tenant, tenant to global')
    .argument('<workflow>', 'name or id')
    .option('--to <scope>', 'tenant or global', 'global')
    .action(async (nameOrId: string, options: { to: string }, command: Command) =>
      change(command, nameOrId, { action: 'promote', target_scope: options.to }),
    );
}

/** `svc workflow demote NAME`: global to tenant, tenant to user. */
export function workflowDemote(workflow: Command): void {
  workflow
    .command('demote')
    .description('give a workflow a narrower scope: global to tenant, tenant to user')
    .argument('<workflow>', 'name or id')
    .option('--to <scope>', 'tenant or user', 'tenant')
    .option('--user <subject>', 'owner, for --to user; default the caller')
    .action(async (nameOrId: string, options: { to: string; user?: string }, command: Command) => {
      const { to, user } = options;
      const owner = user === undefined ? {} : { user_id: user };
      return change(command, nameOrId, { action: 'demote', target_scope: to, ...owner });
    });
}

async function change(
  command: Command,
  nameOrId: string,
  json: { action: string; target_scope: string },
): Promise<void> {
  const { client, output } = contextOf(command);
  const answer = await client.json('POST', `/v1/workflows/${encodeURIComponent(nameOrId)}/scope`, { json });
  await print(output, { value: answer, text: `${textOf(answer, 'name')} is in scope ${json.target_scope}` });
}
