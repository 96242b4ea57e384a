import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

interface Options {
  readonly scope: readonly string[];
  readonly expiresIn?: string;
}

/** `svc key create NAME`: prints the key alone, so that it can be piped; it is shown this once. */
export function keyCreate(key: Command): void {
  key
    .command('create')
    .description('make an API key that acts as its maker; it is shown this once')
    .argument('<name>', 'what it is for')
    .option(
      '--scope <scope>',
      'such as executions:read, agents:*, tools:call, *; may be repeated (default: *)',
      (one: string, all: readonly string[]) => [...all, one],
      [],
    )
    .option('--expires-in <time>', 'such as 12h or 30d (default: 90d)')
    .action(async (name: string, options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const json = {
        name,
        ...(options.scope.length === 0 ? {} : { scopes: options.scope }),
        ...(options.expiresIn === undefined ? {} : { expires_in: secondsOf(options.expiresIn) }),
      };
      const answer = await client.json('POST', '/v1/api-keys', { json });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`API key ${textOf(answer, 'id')}, good until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'key') });
    });
}

export function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds === 0) throw invalid(`--expires-in: expected a time such as 45m, 12h or 30d, got ${text}`);
  return seconds;
}
