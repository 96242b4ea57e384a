import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readSecret, wholeNumber } from '../read-input.ts';

/** `svc secret create PATH`. The value comes from standard input or a file, never from an argument others could see. */
export const secretCreate = (secret: Command): void =>
  put(secret, {
    name: 'create',
    expect: 'absent',
    description: 'keep a secret of the tenant on this node',
    done: 'created',
  });

/** `svc secret rotate PATH`: the value there was is kept as an earlier version. */
export const secretRotate = (secret: Command): void =>
  put(secret, {
    name: 'rotate',
    expect: 'present',
    description: 'give a secret a new value, keeping the old one',
    done: 'rotated',
  });

interface Put {
  readonly name: string;
  readonly expect: 'absent' | 'present';
  readonly description: string;
  readonly done: string;
}

function put(secret: Command, { name, expect, description, done }: Put): void {
  secret
    .command(name)
    .description(description)
    .argument('<path>', 'such as db/password')
    .option('--value <source>', '- for standard input, or @FILE', '-')
    .action(async (path: string, options: { value: string }, command: Command) => {
      const { client, output } = contextOf(command);
      // `echo` and editors end with a newline that is no part of a secret.
      const value = (await readSecret(options.value, '--value')).replace(/\r?\n$/, '');
      const answer = await client.json('PUT', secretUrl(path), { json: { value, expect } });
      const text = `${done} ${textOf(answer, 'reference')}, version ${textOf(answer, 'version')}`;
      await print(output, { value: answer, text });
    });
}

const COLUMNS = ['path', 'reference', 'version', 'updated_at', 'updated_by'];

const secretUrl = (path: string): string => `/v1/secrets/${encodeURIComponent(path)}`;

/** `svc secret get PATH`: versions and times; no value ever comes out. */
export function secretGet(secret: Command): void {
  secret
    .command('get')
    .description('show versions and times of a secret; its value is never shown')
    .argument('<path>', 'such as db/password')
    .action(async (path: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      await print(output, { value: await client.json('GET', secretUrl(path), { repeatable: true }) });
    });
}

/** `svc secret list`. */
export function secretList(secret: Command): void {
  secret
    .command('list')
    .description('list secrets of the tenant on this node')
    .option('--prefix <path>', 'only paths that begin like this')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { prefix?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { prefix: options.prefix, limit: wholeNumber(options.limit, '--limit', 1) };
      const items = listOf(await client.json('GET', '/v1/secrets', { query, repeatable: true }), 'secrets');
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

/** `svc secret delete PATH`. */
export function secretDelete(secret: Command): void {
  secret
    .command('delete')
    .description('delete a secret with all its versions, or one earlier version')
    .argument('<path>', 'such as db/password')
    .option('--version-number <number>', 'only this earlier version')
    .action(async (path: string, options: { versionNumber?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const version = wholeNumber(options.versionNumber, '--version-number', 1);
      const answer = await client.json('DELETE', secretUrl(path), { query: { version } });
      const what = version === undefined ? 'secret' : `version ${version} of secret`;
      await print(output, { value: answer, text: `deleted ${what} ${textOf(answer, 'path')}` });
    });
}
