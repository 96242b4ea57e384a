import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { findingLines, runPath, warn } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { forReader } from '../paint.ts';
import { readText, wholeNumber, workflowPath } from '../read-input.ts';

/** `svc workflow deploy FILE`: registers a manifest; warnings go to standard error. */
export function workflowDeploy(workflow: Command): void {
  workflow
    .command('deploy')
    .description('deploy the workflow of a manifest')
    .argument('<file>', 'YAML manifest; - for standard input')
    .option('--force', 'overwrite the same name and version')
    .option('--scope <scope>', 'user, tenant or global; default tenant')
    .action(async (file: string, options: { force?: true; scope?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', '/v1/workflows', {
        body: { type: 'application/yaml', text: await readText(file, 'FILE') },
        query: { force: options.force === true ? 'true' : undefined, scope: options.scope },
      });
      if (output === 'text' || output === 'table') warn(answer);
      await print(output, { value: answer, text: `deployed workflow ${textOf(answer, 'workflow_id')}` });
    });
}

interface ListOptions {
  readonly scope?: string;
  readonly runs?: true;
  readonly workflow?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

/** `svc workflow list`: deployed workflows; with `--runs` their executions, newest first. */
export function workflowList(workflow: Command): void {
  workflow
    .command('list')
    .description('list deployed workflows, or executions of workflows')
    .option('--scope <scope>', 'global, or visible for all that can be run; default those of the tenant')
    .option('--runs', 'list executions, newest first')
    .option('--workflow <workflow>', 'with --runs: of this workflow, by name or id')
    .option(
      '--status <status>',
      'deployed, paused or archived; with --runs running, waiting_for_human_input, completed, failed or cancelled',
    )
    .option('--limit <count>', 'at most so many; default 1000')
    .option('--skip <count>', 'leave out so many from the start')
    .action(async (options: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const limit = wholeNumber(options.limit, '--limit', 1);
      const skip = wholeNumber(options.skip, '--skip', 0);
      if (options.runs) {
        const query = { workflow_id: options.workflow, status: options.status, limit, offset: skip };
        const items = await listed(client, '/v1/workflows/executions', 'executions', query);
        const columns = ['execution_id', 'workflow_name', 'status', 'current_state', 'started_at'];
        return print(output, { value: items, rows: { items, columns } });
      }
      const query = { scope: options.scope, status: options.status, limit, skip };
      const items = await listed(client, '/v1/workflows', 'workflows', query);
      return print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'scope', 'initial_state', 'id', 'description'] },
      });
    });
}

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

/** `svc workflow delete NAME|ID`: all versions; with `--run` the record of a run that has ended. */
export function workflowDelete(workflow: Command): void {
  workflow
    .command('delete')
    .description('delete a workflow with all its versions')
    .argument('<workflow>', 'name or id; with --run an execution id')
    .option('--run', 'remove a workflow execution that has ended instead')
    .option('--force', 'also while executions of it run; they go on')
    .action(async (id: string, options: { run?: true; force?: true }, command: Command) => {
      const { client, output } = contextOf(command);
      const path = options.run ? runPath(id) : await workflowPath(client, id);
      const answer = await client.json('DELETE', path, {
        query: { force: options.force === true ? 'true' : undefined },
      });
      const text = options.run ? `removed workflow execution ${id}` : `deleted workflow ${id}`;
      await print(output, { value: answer, text });
    });
}

/** `svc workflow validate FILE`: every finding with line, rule and cure; exit code 2 when there are errors. */
export function workflowValidate(workflow: Command): void {
  workflow
    .command('validate')
    .description('check a manifest without deploying it')
    .argument('<file>', 'YAML manifest; - for standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', '/v1/workflows/validate', {
        body: { type: 'application/yaml', text: await readText(file, 'FILE') },
        repeatable: true,
      });
      const findings = listOf(answer, 'findings');
      const errors = findings.filter((finding) => textOf(finding, 'severity') === 'error').length;
      const verdict = `${file}: ${answer.valid === true ? 'valid' : 'not valid'}, ${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}`;
      const text = [...findingLines(answer, 'findings'), verdict].join('\n');
      const rows = { items: findings, columns: ['line', 'severity', 'rule', 'message', 'cure'] };
      await print(output, { value: answer, text, ...(output === 'table' ? { rows } : {}) });
      if (answer.valid !== true) throw new CliFailure(EXIT.validation, `the manifest has ${counted(errors, 'error')}`);
    });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
