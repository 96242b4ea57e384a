import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';
import { type CatalogKind, catalogPath, withArticle } from './catalog-path.ts';

/** `svc agent versions NAME|ID`, newest first; the same for workflows. */
export const catalogVersions =
  (kind: CatalogKind) =>
  (parent: Command): void => {
    parent
      .command('versions')
      .description(`list the versions of ${withArticle(kind)}, newest first`)
      .argument(`<${kind}>`, 'name or id')
      .action(async (nameOrId: string, _options: object, command: Command) => {
        const { client, output } = contextOf(command);
        const path = `${await catalogPath(kind, client, nameOrId)}/versions`;
        const items = listOf(await client.json('GET', path, { repeatable: true }), 'versions');
        await print(output, { value: items, rows: { items, columns: ['version', 'deployed_at', 'description'] } });
      });
  };
