import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { type CatalogKind, catalogPath, withArticle } from './catalog-path.ts';

/** `svc agent promote NAME|ID` and `demote`; the same for workflows. */
export const catalogScope =
  (kind: CatalogKind) =>
  (parent: Command): void => {
    parent
      .command('promote')
      .description(`give ${withArticle(kind)} a wider scope: user to tenant, tenant to global`)
      .argument(`<${kind}>`, 'name or id')
      .option('--to <scope>', 'tenant or global', 'global')
      .action(async (nameOrId: string, options: { to: string }, command: Command) =>
        change(kind, command, nameOrId, { action: 'promote', target_scope: options.to }),
      );
    parent
      .command('demote')
      .description(`give ${withArticle(kind)} a narrower scope: global to tenant, tenant to user`)
      .argument(`<${kind}>`, 'name or id')
      .option('--to <scope>', 'tenant or user', 'tenant')
      .option('--user <subject>', 'owner, for --to user; default the caller')
      .action(async (nameOrId: string, options: { to: string; user?: string }, command: Command) => {
        const { to, user } = options;
        const owner = user === undefined ? {} : { user_id: user };
        return change(kind, command, nameOrId, { action: 'demote', target_scope: to, ...owner });
      });
  };

async function change(
  kind: CatalogKind,
  command: Command,
  nameOrId: string,
  json: { action: string; target_scope: string },
): Promise<void> {
  const { client, output } = contextOf(command);
  const answer = await client.json('POST', `${await catalogPath(kind, client, nameOrId)}/scope`, { json });
  await print(output, { value: answer, text: `${textOf(answer, 'name')} is in scope ${json.target_scope}` });
}
