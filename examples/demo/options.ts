import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface DemoOptions {
  /** Absolute path of the directory the agents look at. */
  readonly directory: string;
  readonly dataDir: string;
  /** End after the runs instead of staying up. */
  readonly once: boolean;
}

const USAGE = `npm run demo -- [PATH] [--once] [--data DIR]
  PATH        directory the agents look at; default this repository
  --once      end after the runs, exit code 0 when both agents completed
  --data DIR  where the node keeps its data; default ./data/demo`;

/** Throws an Error whose message is for the person at the terminal. */
export async function demoOptions(args: readonly string[], repository: string): Promise<DemoOptions | 'help'> {
  const options = {
    once: { type: 'boolean' },
    data: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (values.help) {
    console.log(USAGE);
    return 'help';
  }
  if (positionals.length > 1) throw new Error(`expected one PATH, got ${positionals.join(' ')}`);
  const directory = resolve(positionals[0] ?? repository);
  const found = await stat(directory).catch(() => null);
  if (found === null || !found.isDirectory()) throw new Error(`PATH: expected a directory, got ${positionals[0]}`);
  return { directory, dataDir: resolve(values.data ?? 'data/demo'), once: values.once ?? false };
}
