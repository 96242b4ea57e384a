import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { isForMachines, print } from '../output.ts';
import { printList } from '../print-answer.ts';
import { readObject } from '../read-input.ts';
import { callTool, contentText, toolFailure } from '../tool-call.ts';

const PATH = '/v1/tools';

const COLUMNS = ['name', 'source', 'skip_judge', 'description'];

/** `svc tools …`: the tools that the caller may use. */
export function tools(program: Command): void {
  const group = program.command('tools').description('list, search and call the tools that you may use');
  list(group);
  group
    .command('search')
    .description('search tools by a part of their name or description')
    .argument('<query...>', 'search text')
    .action((words: readonly string[], _options: object, command: Command) =>
      printList(command, { path: PATH, member: 'tools', query: { query: words.join(' ') }, columns: COLUMNS }),
    );
  call(group);
}

/** `svc tools list`. */
function list(group: Command): void {
  group
    .command('list')
    .description('list the tools that you may use')
    .option('--schemas', 'include the schemas of arguments (--output json or yaml)')
    .option('--names', 'print names only, one per line')
    .action(async (options: { schemas?: true; names?: true }, command: Command) => {
      const query = { schemas: options.schemas && 'true' };
      if (!options.names) return printList(command, { path: PATH, member: 'tools', query, columns: COLUMNS });
      const answer = await contextOf(command).client.json('GET', PATH, { repeatable: true });
      const names = listOf(answer, 'tools').map((tool) => `${textOf(tool, 'name')}\n`);
      process.stdout.write(names.join(''));
    });
}

/** `svc tools call NAME --args JSON`: a failure of the tool sets the exit code. */
function call(group: Command): void {
  group
    .command('call')
    .description('call a tool')
    .argument('<name>', 'such as svc.agent.list')
    .option('--args <json>', 'arguments, a JSON object; @FILE reads a file, - standard input', '{}')
    .action(async (name: string, options: { args: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const result = await callTool(client, name, await readObject(options.args, '--args'));
      if (result.isError !== true) return print(output, { value: result, text: contentText(result) });
      if (isForMachines(output)) await print(output, { value: result });
      throw toolFailure(result);
    });
}
