import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { readObject } from '../read-input.ts';
import { callTool, textsOf, toolFailure } from '../tool-call.ts';

/** `svc tools call NAME --args JSON` for every tool you may use; its failure is the exit code. */
export function toolsCall(tools: Command): void {
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
