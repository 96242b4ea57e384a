import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { forReader } from '../printable.ts';
import { type CatalogKind, catalogPath, withArticle } from './catalog-path.ts';

/** `svc agent export NAME|ID`: the manifest as it was deployed, ready for `svc agent deploy -`; the same for workflows. */
export const catalogExport =
  (kind: CatalogKind) =>
  (parent: Command): void => {
    parent
      .command('export')
      .description(`print the manifest of ${withArticle(kind)} as it was deployed`)
      .argument(`<${kind}>`, 'name or id')
      .action(async (nameOrId: string, _options: object, command: Command) => {
        const { client } = contextOf(command);
        const path = `${await catalogPath(kind, client, nameOrId)}/export`;
        const headers = { accept: 'application/yaml' };
        process.stdout.write(forReader(await client.text('GET', path, { headers, repeatable: true })));
      });
  };
