import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { type CatalogKind, catalogPath, withArticle } from './catalog-path.ts';

const STATUSES = {
  pause: {
    status: 'paused',
    about: (kind: string) => `start nothing of ${kind} until it is resumed; what runs goes on`,
  },
  resume: { status: 'deployed', about: (kind: string) => `put ${kind} back into service` },
  archive: { status: 'archived', about: (kind: string) => `take ${kind} out of service and out of lists` },
} as const;

/** `svc agent pause NAME|ID`, `resume`, `archive`; the same for workflows. */
export const catalogStatus =
  (kind: CatalogKind) =>
  (parent: Command): void => {
    for (const [verb, { status, about }] of Object.entries(STATUSES))
      parent
        .command(verb)
        .description(about(withArticle(kind)))
        .argument(`<${kind}>`, 'name or id')
        .action(async (nameOrId: string, _options: object, command: Command) => {
          const { client, output } = contextOf(command);
          const answer = await client.json('PATCH', await catalogPath(kind, client, nameOrId), { json: { status } });
          await print(output, { value: answer, text: `${kind} ${textOf(answer, 'name')} is ${status}` });
        });
  };
