import type { Command } from 'commander';
import { type CliContext, contextOf } from '../context.ts';
import { type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readObject } from '../read-input.ts';
import { callTool, textsOf, toolFailure } from '../tool-call.ts';

/** `svc tools`: every tool of the node, for people and scripts. */
export function tools(program: Command): void {
  const group = program.command('tools').description('tools you may use: list, search, call');
  for (const add of [toolsList, toolsSearch, toolsCall]) add(group);
}

const COLUMNS = ['name', 'source', 'skip_judge', 'description'];

/** `svc tools list`: what the caller may use. */
function toolsList(tools: Command): void {
  tools
    .command('list')
    .description('list the tools you may use')
    .option('--schemas', 'also what arguments each takes (--output json or yaml)')
    .option('--names', 'the names alone, one a line')
    .action(async (options: { schemas?: true; names?: true }, command: Command) => {
      const { client, output } = contextOf(command);
      const items = await offered({ client }, { schemas: options.schemas === undefined ? undefined : 'true' });
      if (options.names) return void process.stdout.write(items.map((item) => `${textOf(item, 'name')}\n`).join(''));
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

/** `svc tools search QUERY`: those whose name or description holds it. */
function toolsSearch(tools: Command): void {
  tools
    .command('search')
    .description('find tools by a part of their name or description')
    .argument('<query...>', 'what is looked for')
    .action(async (words: readonly string[], _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = await offered({ client }, { query: words.join(' ') });
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

async function offered(
  { client }: Pick<CliContext, 'client'>,
  query: Readonly<Record<string, string | undefined>>,
): Promise<JsonObject[]> {
  return listOf(await client.json('GET', '/v1/tools', { query, repeatable: true }), 'tools');
}

/** `svc tools call NAME --args JSON` for every tool you may use; its failure is the exit code. */
function toolsCall(tools: Command): void {
  tools
    .command('call')
    .description('call a tool you may use')
    .argument('<name>', 'such as svc.agent.list')
    .option('--args <json>', 'its arguments, a JSON object; @FILE reads a file, - standard input', '{}')
    .action(async (name: string, options: { args: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const result = await callTool(client, name, await readObject(options.args, '--args'));
      if (result.isError !== true) return print(output, { value: result, text: textsOf(result) });
      if (output === 'json' || output === 'yaml') await print(output, { value: result });
      throw toolFailure(result);
    });
}
