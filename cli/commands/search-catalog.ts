import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

interface SearchOptions {
  readonly limit?: string;
  readonly minScore?: string;
  readonly status?: string;
  readonly label?: readonly string[];
  /** `--no-platform`. */
  readonly platform: boolean;
}

/** `svc agent search` and `svc workflow search`: what is deployed, by what it does. */
export const catalogSearch = (noun: 'agent' | 'workflow') => (parent: Command) => {
  parent
    .command('search')
    .description(`find deployed ${noun}s by what they do, best first`)
    .argument('<query...>', 'what is looked for, in words')
    .option('--limit <count>', 'at most so many (default 10, at most 100)')
    .option('--min-score <score>', 'only those with at least this score, 0 to 1 (default 0.3)')
    .option('--status <status>', 'deployed, paused or archived (default: deployed and paused)')
    .option('--label <key=value...>', 'only those with this label; may be given several times')
    .option('--no-platform', 'leave out what ships with the product and what is deployed for all tenants')
    .action(async (words: readonly string[], options: SearchOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        q: words.join(' '),
        limit: wholeNumber(options.limit, '--limit', 1),
        min_score: options.minScore,
        status: options.status,
        label: options.label?.map(labelOf),
        include_platform_templates: options.platform ? undefined : 'false',
      };
      const items = listOf(await client.json('GET', `/v1/${noun}s/search`, { query, repeatable: true }), 'results');
      await print(output, {
        value: items,
        rows: { items, columns: ['score', 'name', 'version', 'id', 'description'] },
      });
    });
};

/** `team=docs` and `team:docs`, as the route takes it. */
function labelOf(text: string): string {
  const [, key, value] = /^([^=:]+)[=:](.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) throw invalid(`--label ${text}: expected KEY=VALUE`);
  return `${key}:${value}`;
}
