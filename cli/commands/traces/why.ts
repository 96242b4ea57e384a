import type { Command } from 'commander';
import { type CliContext, contextOf } from '../../context.ts';
import { CliFailure, EXIT } from '../../failure.ts';
import { type JsonObject, listOf, textOf } from '../../json.ts';
import { print } from '../../output.ts';

/** `svc why RUN`: why an execution or a workflow run waits, or why it ended so. */
export function why(program: Command): void {
  program
    .command('why')
    .description('say why an execution or workflow run waits, or why it ended so')
    .argument('<run>', 'execution id, of an agent or a workflow')
    .action(async (run: string, _options: object, command: Command) => {
      const context = contextOf(command);
      const answer = await readRun(context, run, '/why');
      await print(context.output, { value: answer, text: chainText(answer) });
    });
}

/**
 * An id names an execution of an agent, else a workflow run. `rest`: the suffix of its address, such as `/why`. `what`: the
 * things that the id can name, for the error when it names none.
 */
export async function readRun(
  { client }: Pick<CliContext, 'client'>,
  run: string,
  rest = '',
  what = 'execution or workflow run',
): Promise<JsonObject> {
  for (const runs of ['/v1/executions', '/v1/workflows/executions']) {
    try {
      return await client.json('GET', `${runs}/${encodeURIComponent(run)}${rest}`, { repeatable: true });
    } catch (thrown) {
      if (!(thrown instanceof CliFailure) || thrown.exitCode !== EXIT.notFound) throw thrown;
    }
  }
  throw new CliFailure(EXIT.notFound, `no ${what} has the id ${run}`);
}

/** The sentence, and below it the chain as a tree: each cause below its consequence. */
function chainText(answer: JsonObject): string {
  const lines = listOf(answer, 'chain').map((link, depth) => {
    const until = textOf(link, 'until');
    const branch = depth === 0 ? '' : `${'   '.repeat(depth - 1)}└─ `;
    return `${branch}${textOf(link, 'kind')}: ${textOf(link, 'reason')}${until === '' ? '' : ` [until ${until}]`}`;
  });
  return [textOf(answer, 'sentence'), '', ...lines].join('\n');
}
