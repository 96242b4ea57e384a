import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { printDone, printList, printOne } from '../print-answer.ts';
import { readSecret, wholeNumber } from '../read-input.ts';

const pathOf = (path: string): string => `/v1/secrets/${encodeURIComponent(path)}`;

/** `svc secret …`: secrets of a tenant. Values can only be written, never read. */
export function secret(program: Command): void {
  const group = program.command('secret').description('create, rotate, list and delete secrets of a tenant');
  put(group, ['create', 'absent'], 'create a secret of the tenant', 'created');
  group
    .command('get')
    .description('show the versions and times of a secret; its value is never shown')
    .argument('<path>', 'such as db/password')
    .action((path: string, _options: object, command: Command) => printOne(command, pathOf(path)));
  list(group);
  put(group, ['rotate', 'present'], 'give a secret a new value; the old one stays as an earlier version', 'rotated');
  remove(group);
  keys(group);
}

/** The value comes from standard input or a file, never from an argument: other users can see arguments. */
function put(group: Command, [name, expect]: readonly [string, string], about: string, done: string): void {
  group
    .command(name)
    .description(about)
    .argument('<path>', 'such as db/password')
    .option('--value <source>', '- for standard input, or @FILE', '-')
    .action(async (path: string, options: { value: string }, command: Command) => {
      // `echo` and editors add a newline that is not part of the secret.
      const value = (await readSecret(options.value, '--value')).replace(/\r?\n$/, '');
      await printDone(
        command,
        ['PUT', pathOf(path)],
        { json: { value, expect } },
        (answer) => `${done} ${textOf(answer, 'reference')}, version ${textOf(answer, 'version')}`,
      );
    });
}

/** `svc secret list`. */
function list(group: Command): void {
  group
    .command('list')
    .description('list the secrets of the tenant')
    .option('--prefix <path>', 'only paths with this prefix')
    .option('--limit <count>', 'maximum number of secrets')
    .action(async (options: { prefix?: string; limit?: string }, command: Command) => {
      const query = { prefix: options.prefix, limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['path', 'reference', 'version', 'updated_at', 'updated_by'];
      await printList(command, { path: '/v1/secrets', member: 'secrets', query, columns });
    });
}

/** `svc secret delete PATH`. */
function remove(group: Command): void {
  group
    .command('delete')
    .description('delete a secret with all its versions, or one earlier version')
    .argument('<path>', 'such as db/password')
    .option('--version-number <number>', 'only this earlier version')
    .action(async (path: string, options: { versionNumber?: string }, command: Command) => {
      const version = wholeNumber(options.versionNumber, '--version-number', 1);
      const what = version === undefined ? 'secret' : `version ${version} of secret`;
      const done = (answer: object): string => `deleted ${what} ${textOf(answer, 'path')}`;
      await printDone(command, ['DELETE', pathOf(path)], { query: { version } }, done);
    });
}

const KEY_PATH = '/v1/cluster/secret-keys';

/** `svc secret keys`, `rotate-key` and `add-key`: the key that encrypts the secrets of all tenants. */
function keys(group: Command): void {
  group
    .command('keys')
    .description('show the versions of the key that encrypts secrets; for operators')
    .action(async (_options: object, command: Command) => {
      const columns = ['version', 'made_at', 'secrets', 'payload_keys'];
      await printList(command, { path: KEY_PATH, member: 'versions', columns });
    });
  group
    .command('rotate-key')
    .description('encrypt all secrets with a newer version of the key; for operators')
    .action(async (_options: object, command: Command) => {
      await printDone(
        command,
        ['POST', `${KEY_PATH}/rotate`],
        {},
        (answer) =>
          `key version ${textOf(answer, 'current')} is in use; existing secrets are encrypted with it in small steps`,
      );
    });
  group
    .command('add-key')
    .description('add a version to a key file, or create it; copy the file to every node before `rotate-key`')
    .argument('<file>', 'key file of spec.secrets.keys.file')
    .action(async (file: string, _options: object, command: Command) => {
      const { addSecretKey } = await import('../../app/secrets.ts');
      const version = await addSecretKey(file);
      const { output } = contextOf(command);
      await print(output, { value: { file, version }, text: `added key version ${version} to ${file}` });
    });
}
