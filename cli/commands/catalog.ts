import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { findingLines, warn } from '../findings.ts';
import { listOf, textOf } from '../json.ts';
import { deployManifest, readManifest } from '../manifest-file.ts';
import { agentId, named, workflowPath } from '../names.ts';
import type { NodeClient } from '../node-client.ts';
import { counted, isForMachines, print } from '../output.ts';
import { printDone, printList } from '../print-answer.ts';
import { wholeNumber } from '../read-input.ts';
import { forReader } from '../screen/paint.ts';

/** Agents and workflows share these commands. */
export type CatalogKind = 'agent' | 'workflow';

const withArticle = (kind: CatalogKind): string => (kind === 'agent' ? 'an agent' : 'a workflow');

const pathOf = async (kind: CatalogKind, client: NodeClient, nameOrId: string): Promise<string> =>
  kind === 'agent' ? `/v1/agents/${await agentId(client, nameOrId)}` : workflowPath(client, nameOrId);

/** `svc agent deploy FILE`: registers a manifest. Warnings go to standard error. */
export function deploy(parent: Command, kind: CatalogKind): void {
  parent
    .command('deploy')
    .description(`deploy the ${kind} of a manifest`)
    .argument('<file>', 'YAML manifest; - reads standard input')
    .option('--force', 'replace the same name and version')
    .option('--scope <scope>', 'user, tenant or global (default: tenant)')
    .action(async (file: string, options: { force?: true; scope?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const manifest = await readManifest(file);
      const answer = await deployManifest(client, kind, manifest, options);
      if (!isForMachines(output)) warn(answer, manifest.file);
      await print(output, { value: answer, text: `deployed ${kind} ${textOf(answer, `${kind}_id`)}` });
    });
}

/** `svc agent validate FILE`: all findings with line, rule and cure. Exit code 2 when there are errors. */
export function validate(parent: Command, kind: CatalogKind): void {
  parent
    .command('validate')
    .description('check a manifest without deploying it')
    .argument('<file>', 'YAML manifest; - reads standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const manifest = await readManifest(file);
      const answer = await client.json('POST', `/v1/${kind}s/validate`, {
        body: { type: 'application/yaml', text: manifest.text },
        repeatable: true,
      });
      const findings = listOf(answer, 'findings');
      const errors = findings.filter((finding) => textOf(finding, 'severity') === 'error').length;
      const verdict = [
        answer.valid === true ? 'valid' : 'not valid',
        counted(errors, 'error'),
        counted(findings.length - errors, 'warning'),
      ].join(', ');
      const text = [...findingLines(answer, 'findings', manifest.file), `${file}: ${verdict}`].join('\n');
      const rows = { items: findings, columns: ['line', 'column', 'severity', 'rule', 'message', 'cure'] };
      await print(output, { value: answer, text, rows: output === 'table' ? rows : undefined });
      if (answer.valid !== true) throw new CliFailure(EXIT.validation, `the manifest has ${counted(errors, 'error')}`);
    });
}

/** `svc agent show NAME|ID`. */
export function show(parent: Command, kind: CatalogKind): Command {
  return parent
    .command('show')
    .description(`show ${withArticle(kind)} with its manifest`)
    .argument(`<${kind}>`, 'name or id')
    .option('--version <version>', 'version (default: the latest)')
    .action(async (nameOrId: string, { version }: { version?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const path = await pathOf(kind, client, nameOrId);
      const read = () => client.json('GET', path, { query: { version }, repeatable: true });
      // With a version, the version may be missing rather than the name.
      const answer = version === undefined ? await named(client, kind, nameOrId, read) : await read();
      const { manifest, manifest_yaml, ...summary } = answer;
      if (isForMachines(output)) return print(output, { value: { ...summary, manifest } });
      await print(output, { value: summary });
      if (output === 'text' && typeof manifest_yaml === 'string')
        process.stdout.write(`\n${forReader(manifest_yaml.trimEnd())}\n`);
    });
}

/**
 * `svc agent versions NAME|ID`, newest first, and `svc agent export`: the manifest in the form that `svc agent deploy -` reads.
 */
export function versionsAndExport(parent: Command, kind: CatalogKind): void {
  parent
    .command('export')
    .description(`print the manifest of ${withArticle(kind)} as it was deployed`)
    .argument(`<${kind}>`, 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client } = contextOf(command);
      const path = `${await pathOf(kind, client, nameOrId)}/export`;
      const headers = { accept: 'application/yaml' };
      process.stdout.write(forReader(await client.text('GET', path, { headers, repeatable: true })));
    });
  parent
    .command('versions')
    .description(`list the versions of ${withArticle(kind)}, newest first`)
    .argument(`<${kind}>`, 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const path = `${await pathOf(kind, contextOf(command).client, nameOrId)}/versions`;
      await printList(command, { path, member: 'versions', columns: ['version', 'deployed_at', 'description'] });
    });
}

interface SearchOptions {
  readonly limit?: string;
  readonly minScore?: string;
  readonly status?: string;
  readonly label?: readonly string[];
  /** `--no-platform`. */
  readonly platform: boolean;
}

/** `svc agent search QUERY`: searches deployed agents by their description. */
export function search(parent: Command, kind: CatalogKind): void {
  parent
    .command('search')
    .description(`search deployed ${kind}s by what they do, best match first`)
    .argument('<query...>', 'search text')
    .option('--limit <count>', 'maximum number of results, up to 100 (default: 10)')
    .option('--min-score <score>', 'lowest score, 0 to 1 (default: 0.3)')
    .option('--status <status>', 'deployed, paused or archived (default: deployed and paused)')
    .option('--label <key=value...>', 'only entries with this label; may be repeated')
    .option('--no-platform', 'without built-in entries and those of scope global')
    .action(async (words: readonly string[], options: SearchOptions, command: Command) => {
      const query = {
        q: words.join(' '),
        limit: wholeNumber(options.limit, '--limit', 1),
        min_score: options.minScore,
        status: options.status,
        label: options.label?.map(labelOf),
        include_platform_templates: options.platform ? undefined : 'false',
      };
      const columns = ['score', 'name', 'version', 'id', 'description'];
      await printList(command, { path: `/v1/${kind}s/search`, member: 'results', query, columns });
    });
}

/** `team=docs` or `team:docs`; the route takes the second form. */
function labelOf(text: string): string {
  const [, key, value] = /^([^=:]+)[=:](.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) throw invalid(`--label: expected KEY=VALUE, got ${text}`);
  return `${key}:${value}`;
}

/** `svc agent pause NAME|ID`, `resume`, `archive`. */
export function statuses(parent: Command, kind: CatalogKind): void {
  const one = withArticle(kind);
  const add = (verb: string, status: string, about: string): Command =>
    parent
      .command(verb)
      .description(about)
      .argument(`<${kind}>`, 'name or id')
      .action(async (nameOrId: string, _options: object, command: Command) => {
        const path = await pathOf(kind, contextOf(command).client, nameOrId);
        const done = (answer: object): string => `${kind} ${textOf(answer, 'name')} is ${status}`;
        await printDone(command, ['PATCH', path], { json: { status } }, done);
      });
  add('pause', 'paused', `pause ${one}: no new runs start, running ones continue`);
  add('resume', 'deployed', `resume ${one} that is paused or archived`);
  add('archive', 'archived', `archive ${one}: it cannot be started and is hidden from lists`);
}

/** `svc agent promote NAME|ID` and `demote`. */
export function scopes(parent: Command, kind: CatalogKind): void {
  parent
    .command('promote')
    .description(`widen the scope of ${withArticle(kind)}: user to tenant, tenant to global`)
    .argument(`<${kind}>`, 'name or id')
    .option('--to <scope>', 'tenant or global', 'global')
    .action((nameOrId: string, { to }: { to: string }, command: Command) =>
      move(kind, command, nameOrId, { action: 'promote', target_scope: to }),
    );
  parent
    .command('demote')
    .description(`narrow the scope of ${withArticle(kind)}: global to tenant, tenant to user`)
    .argument(`<${kind}>`, 'name or id')
    .option('--to <scope>', 'tenant or user', 'tenant')
    .option('--user <subject>', 'owner, with --to user (default: the caller)')
    .action((nameOrId: string, { to, user }: { to: string; user?: string }, command: Command) =>
      move(kind, command, nameOrId, { action: 'demote', target_scope: to, user_id: user }),
    );
}

async function move(
  kind: CatalogKind,
  command: Command,
  nameOrId: string,
  json: { readonly action: string; readonly target_scope: string; readonly user_id?: string },
): Promise<void> {
  const path = `${await pathOf(kind, contextOf(command).client, nameOrId)}/scope`;
  const done = (answer: object): string => `${textOf(answer, 'name')} is in scope ${json.target_scope}`;
  await printDone(command, ['POST', path], { json }, done);
}
