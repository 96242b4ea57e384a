import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, parseJson, textOf } from '../json.ts';
import { print } from '../output.ts';

/** Of the package: two folders up in a checkout, three in the published package (dist/). */
function packageVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const found = parseJson(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (isObject(found) && found.name === 'svc') return textOf(found, 'version');
    } catch (thrown) {
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
    }
  }
  return 'unknown';
}

/** `svc version`. */
export function version(program: Command): void {
  program
    .command('version')
    .description('print the version')
    .action(async (_options: object, command: Command) => {
      const value = { svc: packageVersion(), node: process.version };
      await print(contextOf(command).output, { value, text: `svc ${value.svc}` });
    });
}
