import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';

const pathOf = (source: string): string => `/v1/stimuli/routes/${encodeURIComponent(source)}`;

/** `svc stimulus route list|add|remove`: which source starts which workflow. */
export function stimulusRoute(stimulus: Command): void {
  const route = stimulus.command('route').description('direct routes from sources to workflows');
  route
    .command('list')
    .description('list the direct routes')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await client.json('GET', '/v1/stimuli/routes', { repeatable: true }), 'routes');
      await print(output, { value: items, rows: { items, columns: ['source', 'workflow', 'origin'] } });
    });
  route
    .command('add')
    .description('route a source to a workflow, instead of where it went before')
    .argument('<source>', 'name of the source')
    .argument('<workflow>', 'name or id')
    .action(async (source: string, workflow: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('PUT', pathOf(source), { json: { workflow }, repeatable: true });
      await print(output, { value: answer, text: `${source} starts ${workflow}` });
    });
  route
    .command('remove')
    .description('remove a direct route')
    .argument('<source>', 'name of the source')
    .action(async (source: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', pathOf(source));
      await print(output, { value: answer, text: `removed the route of ${source}` });
    });
}
