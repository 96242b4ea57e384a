import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { forReader } from '../paint.ts';
import { wholeNumber } from '../read-input.ts';
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

interface SearchOptions {
  readonly limit?: string;
  readonly minScore?: string;
  readonly status?: string;
  readonly label?: readonly string[];
  /** `--no-platform`. */
  readonly platform: boolean;
}

/** `svc agent search` and `svc workflow search`: what is deployed, by what it does. */
export const catalogSearch = (noun: 'agent' | 'workflow') => (parent: Command) => {
  parent
    .command('search')
    .description(`find deployed ${noun}s by what they do, best first`)
    .argument('<query...>', 'what is looked for, in words')
    .option('--limit <count>', 'at most so many (default 10, at most 100)')
    .option('--min-score <score>', 'only those with at least this score, 0 to 1 (default 0.3)')
    .option('--status <status>', 'deployed, paused or archived (default: deployed and paused)')
    .option('--label <key=value...>', 'only those with this label; may be given several times')
    .option('--no-platform', 'leave out what ships with the product and what is deployed for all tenants')
    .action(async (words: readonly string[], options: SearchOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        q: words.join(' '),
        limit: wholeNumber(options.limit, '--limit', 1),
        min_score: options.minScore,
        status: options.status,
        label: options.label?.map(labelOf),
        include_platform_templates: options.platform ? undefined : 'false',
      };
      const items = listOf(await client.json('GET', `/v1/${noun}s/search`, { query, repeatable: true }), 'results');
      await print(output, {
        value: items,
        rows: { items, columns: ['score', 'name', 'version', 'id', 'description'] },
      });
    });
};

/** `team=docs` and `team:docs`, as the route takes it. */
function labelOf(text: string): string {
  const [, key, value] = /^([^=:]+)[=:](.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) throw invalid(`--label ${text}: expected KEY=VALUE`);
  return `${key}:${value}`;
}
