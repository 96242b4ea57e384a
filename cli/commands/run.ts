import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type CliContext, contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { warn } from '../findings.ts';
import { isObject, parseJson, textOf } from '../json.ts';
import { checkedManifest, deployManifest, type ManifestKind, readManifest } from '../manifest-file.ts';
import { agentId, deployedKind } from '../names.ts';
import { startOnce } from '../node-client.ts';
import { print } from '../output.ts';
import { labelsOf, readInput, several } from '../read-input.ts';
import { watchExecution } from '../watch-execution.ts';
import { type RunOptions, startRun, statesOf, watchWorkflow } from '../watch-workflow.ts';

interface StartOptions extends RunOptions {
  readonly label: readonly string[];
  readonly detach?: true;
  readonly node?: string;
}

/** `svc run TARGET`: deploys the manifest of a file, or uses a deployed one, starts it and shows it until it ends. */
export function run(program: Command): void {
  program
    .command('run')
    .description('start an agent or a workflow and follow it to its end; a file is deployed first')
    .argument('<target>', 'name or id of an agent or workflow, or a YAML manifest (it replaces the same version)')
    .option('--input <input>', 'input: a JSON object, or the text of an agent; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE or - as above')
    .option(
      '--blackboard <json>',
      'of a workflow: initial entries of its blackboard, a JSON object; @FILE or - as above',
    )
    .option('--version <version>', 'version (default: the one deployed last)')
    .option('--label <key=value>', 'label by which lists of runs filter; repeatable', several, [])
    .option('--detach', 'print the id and do not follow')
    .option('--node <url>', 'address of the node, same as --url')
    .action(async (target: string, options: StartOptions, command: Command) => {
      const context = contextOf(command, { ...process.env, ...(options.node && { SVC_URL: options.node }) });
      const {
        kind,
        name,
        version = options.version,
      } = isFile(target)
        ? await deployed(context, target)
        : { ...(await deployedKind(context.client, target)), version: options.version };
      if (kind === 'workflow') await runWorkflow(context, name, { ...options, version });
      else await runAgent(context, name, { ...options, version });
    });
}

const isFile = (target: string): boolean => target === '-' || /\.(ya?ml|json)$/.test(target) || existsSync(target);

interface Target {
  readonly kind: ManifestKind;
  /** Name or id. */
  readonly name: string;
  /** Sent with the start, since the deployed version need not be the newest. */
  readonly version: string;
}

async function deployed({ client }: CliContext, path: string): Promise<Target> {
  const manifest = await checkedManifest(await readManifest(path));
  const answer = await deployManifest(client, manifest.kind, manifest, { force: true });
  warn(answer, manifest.file);
  return { kind: manifest.kind, name: textOf(answer, `${manifest.kind}_id`), version: manifest.version };
}

async function runWorkflow(context: CliContext, name: string, options: StartOptions): Promise<void> {
  const id = await startRun(context.client, name, options);
  if (options.detach) return print(context.output, { value: { execution_id: id, status: 'started' }, text: id });
  process.stderr.write(`workflow execution ${id}\n`);
  const states = await statesOf(context.client, name, options.version);
  return watchWorkflow(context, id, { after: 0, show: 'result', states });
}

async function runAgent(context: CliContext, name: string, options: StartOptions): Promise<void> {
  if (options.blackboard !== undefined) throw invalid('--blackboard: an agent has none');
  const { client } = context;
  const agent_id = await agentId(client, name);
  const given = await readInput(options.input ?? '', '--input');
  const values = parseJson(given);
  const intent = options.intent === undefined ? undefined : await readInput(options.intent, '--intent');
  const shared = { version: options.version, labels: labelsOf(options.label) };
  if (intent !== undefined && given !== '' && !isObject(values))
    throw invalid('--input: expected a JSON object such as {"key": "value"} beside --intent');
  const answer =
    intent !== undefined || isObject(values)
      ? await client.json(
          'POST',
          `/v1/agents/${agent_id}/execute`,
          startOnce({ intent, input: isObject(values) ? values : undefined, ...shared }),
        )
      : await client.json('POST', '/v1/executions', startOnce({ agent_id, input: given, ...shared }));
  const id = textOf(answer, 'execution_id');
  if (options.detach) return print(context.output, { value: answer, text: id });
  const waits = textOf(answer.waiting_for, 'reason');
  process.stderr.write(`execution ${id}\n${waits === '' ? '' : `${waits}\n`}`);
  return watchExecution(context, id, { after: 0, show: 'result' });
}
