import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { warn } from '../findings.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import type { Query } from '../list-pages.ts';
import type { NodeClient } from '../node-client.ts';
import { print } from '../output.ts';
import { readText, several, wholeNumber } from '../read-input.ts';
import { type RunOptions, startRun, statesOf, watchWorkflow } from '../watch-workflow.ts';

/** `svc run FILE`: deploys the workflow of a manifest, starts it and shows its states until it ends. */
export function run(program: Command): void {
  program
    .command('run')
    .description('deploy a workflow (replacing the same version), run it, and follow the run to its end')
    .argument('<file>', 'YAML manifest of a workflow')
    .option('--input <json>', 'input, a JSON object; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE or - as above')
    .option('--blackboard <json>', 'initial entries of the blackboard, a JSON object; @FILE or - as above')
    .option('--label <key=value>', 'label by which lists of runs filter; repeatable', several, [])
    .option('--node <url>', 'address of the node, same as --url')
    .action(async (file: string, options: RunOptions & { node?: string }, command: Command) => {
      const context = contextOf(command, { ...process.env, ...(options.node && { SVC_URL: options.node }) });
      const text = await readText(file, 'FILE');
      const deployed = await context.client.json('POST', '/v1/workflows', {
        body: { type: 'application/yaml', text },
        query: { force: 'true' },
        repeatable: true,
      });
      warn(deployed);
      const workflowId = textOf(deployed, 'workflow_id');
      const version = await versionIn(text);
      const id = await startRun(context.client, workflowId, { ...options, version });
      process.stderr.write(`workflow execution ${id}\n`);
      const states = await statesOf(context.client, workflowId, version);
      await watchWorkflow(context, id, { after: 0, show: 'result', states });
    });
}

/** Version of the manifest that was just deployed; a newer one may have been deployed before. */
async function versionIn(text: string): Promise<string> {
  const { parse } = await import('yaml');
  const manifest: unknown = parse(text);
  return textOf(isObject(manifest) ? manifest.metadata : undefined, 'version');
}

interface ListOptions {
  readonly status: readonly string[];
  readonly outcome?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly version?: string;
  readonly label: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly tag: readonly string[];
  readonly node?: string;
  readonly waitReason: readonly string[];
  readonly errorCode?: string;
  readonly parent?: string;
  readonly trace?: string;
  readonly text?: string;
  readonly limit?: string;
}

const DEFAULT_LIMIT = 50;

const COLUMNS = ['id', 'kind', 'name', 'status', 'waits for', 'started_at', 'duration_ms', 'node'];

/** `svc runs list`: executions of agents and workflows in one list. */
export function runs(program: Command): void {
  program
    .command('runs')
    .description('executions of agents and workflows in one list')
    .command('list')
    .description('list executions of agents and workflows, newest first')
    .option(
      '--status <status>',
      'pending, running, waiting_for_human_input, completed, failed or cancelled; repeatable',
      several,
      [],
    )
    .option('--outcome <outcome>', 'succeeded, failed or cancelled')
    .option('--kind <kind>', 'execution or workflow')
    .option('--name <name>', 'name of the agent or workflow')
    .option('--version <version>', 'version of the agent or workflow')
    .option('--label <key=value>', 'label given at the start; repeatable, all must match', several, [])
    .option('--from <time>', 'started at this time or later, ISO 8601')
    .option('--to <time>', 'started before this time, ISO 8601')
    .option('--tag <tag>', 'tag that its node must have; repeatable, all must match', several, [])
    .option('--node <node>', 'id of the node that handled its last message')
    .option(
      '--wait-reason <kind>',
      'node, timer, approval, child, judges, effect, volumes or turn; repeatable',
      several,
      [],
    )
    .option('--error-code <code>', 'code of the failure')
    .option('--parent <id>', 'id of the run, panel of judges or stimulus that started it')
    .option('--trace <id>', 'id of its trace')
    .option('--text <text>', 'the beginning of the id, or a part of the name')
    .option('--limit <count>', `maximum number of runs (default: ${DEFAULT_LIMIT})`)
    .action(async (options: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const { waitReason, errorCode, trace, limit, ...same } = options;
      const most = Number(wholeNumber(limit, '--limit', 1) ?? DEFAULT_LIMIT);
      const conditions = { ...same, wait_reason: waitReason, error_code: errorCode, trace_id: trace };
      const items = await foundRuns(client, conditions, most);
      const rows = { items: items.map((run) => ({ ...run, 'waits for': run.wait_reason })), columns: COLUMNS };
      await print(output, { value: items, rows });
    });
}

/** The first `most` matches. A page may be short and not the last, so the pages are read until one has no `next`. */
export async function foundRuns(client: NodeClient, conditions: Query, most: number): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  for (let next: string | undefined; ; ) {
    const limit = String(Math.min(most - items.length, 1_000));
    const answer = await client.json('GET', '/v1/runs', { query: { ...conditions, limit, next }, repeatable: true });
    items.push(...listOf(answer, 'runs'));
    if (typeof answer.next !== 'string' || items.length >= most) return items;
    next = answer.next;
  }
}
