import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { isObject, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readSecret } from '../read-input.ts';

/** `svc key validate`: exit code 0 for a live key of the tenant, else 1. The key is no argument, which others could see. */
export function keyValidate(key: Command): void {
  key
    .command('validate')
    .description('say whether a text is a live API key of the tenant')
    .argument('[key]', '`-` for standard input, or @FILE', '-')
    .action(async (given: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const text = (await readSecret(given, 'key')).trim();
      const answer = await client.json('POST', '/v1/api-keys/validate', { json: { key: text }, repeatable: true });
      const found = isObject(answer.key) ? answer.key : {};
      if (answer.valid !== true) throw new CliFailure(EXIT.notFound, 'this is no live API key of the tenant');
      const scopes = Array.isArray(found.scopes) ? found.scopes.join(' ') : '';
      const line = `API key ${textOf(found, 'id')} (${textOf(found, 'name')}), scopes ${scopes}`;
      await print(output, { value: answer, text: `${line}, good until ${textOf(found, 'expires_at')}` });
    });
}
