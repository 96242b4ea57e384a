import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { type JsonObject, listOf, textOf } from '../../json.ts';
import { print } from '../../output.ts';
import { printList } from '../../print-answer.ts';
import { pairs, several } from '../../read-input.ts';

const PATH = '/v1/cluster/providers';

const pathOf = (name: string): string => `${PATH}/${encodeURIComponent(name)}`;

const modelPathOf = (name: string, alias: string): string => `${pathOf(name)}/models/${encodeURIComponent(alias)}`;

/** `svc provider …`: providers of models for all nodes. */
export function provider(program: Command): void {
  const group = program
    .command('provider')
    .description('providers of models that controllers manage for all nodes: list, set, remove, alias');
  group
    .command('list')
    .description('list the managed providers and their aliases; keys are names of secrets')
    .action((_options: object, command: Command) =>
      printList(command, {
        path: PATH,
        member: 'providers',
        columns: ['name', 'type', 'endpoint', 'api_key', 'enabled', 'models'],
        row: (one) => ({ ...one, models: modelsText(one) }),
      }),
    );
  set(group);
  group
    .command('remove')
    .description('remove a managed provider')
    .argument('<name>', 'name of the provider')
    .action((name: string, _options: object, command: Command) => change(command, 'DELETE', pathOf(name), undefined));
  aliases(group.command('alias').description('aliases of a managed provider: set, remove'));
}

/** `smart=gpt-5, cheap=gpt-5-mini`. */
const modelsText = (one: JsonObject): string =>
  listOf(one, 'models')
    .map((model) => `${textOf(model, 'alias')}=${textOf(model, 'model')}`)
    .join(', ');

interface SetOptions {
  readonly type: string;
  readonly endpoint?: string;
  readonly apiKey?: string;
  readonly header: readonly string[];
  readonly model: readonly string[];
  readonly disabled?: boolean;
}

function set(group: Command): void {
  group
    .command('set')
    .description('create or replace a provider for all nodes; a provider of that name in a node’s own file wins there')
    .argument('<name>', 'name of the provider')
    .requiredOption('--type <type>', 'openai, anthropic, gemini, ollama or openai-compatible')
    .option('--endpoint <url>', 'base URL; each type but openai-compatible has a default')
    .option('--api-key <reference>', 'secret:providers/NAME, the name of a secret of tenant svc-system')
    .option('--header <name=reference>', 'header of each call, as a secret too; repeatable', several, [])
    .option('--model <alias=model>', 'alias and the provider’s name of its model; repeatable', several, [])
    .option('--disabled', 'keep it, but do not use it')
    .action((name: string, { type, endpoint, apiKey, header, model, disabled }: SetOptions, command: Command) =>
      change(command, 'PUT', pathOf(name), {
        type,
        endpoint,
        api_key: apiKey,
        enabled: disabled !== true,
        headers: pairs(header, '--header'),
        models: Object.entries(pairs(model, '--model')).map(([alias, called]) => ({ alias, model: called })),
      }),
    );
}

function aliases(group: Command): void {
  group
    .command('set')
    .description('create or replace an alias')
    .argument('<provider>', 'name of the provider')
    .argument('<alias>', 'alias in manifests, such as smart')
    .argument('<model>', 'the provider’s name of the model')
    .option('--fallback <alias>', 'managed alias that is used when this model fails')
    .action((name: string, alias: string, model: string, { fallback }: { fallback?: string }, command: Command) =>
      change(command, 'PUT', modelPathOf(name, alias), { model, fallback_alias: fallback }),
    );
  group
    .command('remove')
    .description('remove an alias; a provider keeps at least one')
    .argument('<provider>', 'name of the provider')
    .argument('<alias>', 'alias to remove')
    .action((name: string, alias: string, _options: object, command: Command) =>
      change(command, 'DELETE', modelPathOf(name, alias), undefined),
    );
}

/** Makes a change and prints the answers of the nodes. A node that could not be reached fetches the change later. */
async function change(
  command: Command,
  method: 'PUT' | 'DELETE',
  path: string,
  json: JsonObject | undefined,
): Promise<void> {
  const { client, output } = contextOf(command);
  const answer = await client.json(method, path, { json, repeatable: method === 'PUT' });
  const nodes = listOf(answer, 'nodes');
  await print(output, { value: answer, rows: { items: nodes, columns: ['node_id', 'accepted', 'reason'] } });
}
