import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { volumeId } from '../names.ts';
import type { NodeClient } from '../node-client.ts';
import { counted, print } from '../output.ts';
import { printDone, printList, printOne } from '../print-answer.ts';
import { unreadable, wholeNumber } from '../read-input.ts';

const MiB = 1024 * 1024;

const PATH = '/v1/volumes';

const pathOf = async (client: NodeClient, nameOrId: string): Promise<string> =>
  `${PATH}/${await volumeId(client, nameOrId)}`;

/** `svc volume …`: volumes and their files. */
export function volume(program: Command): void {
  const group = program.command('volume').description('create, list and delete volumes, and copy files in and out');
  create(group);
  list(group);
  group
    .command('show')
    .description('show a volume and its used space')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) =>
      printOne(command, await pathOf(contextOf(command).client, nameOrId)),
    );
  group
    .command('delete')
    .alias('remove')
    .description('delete a volume with all its files')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const id = await volumeId(contextOf(command).client, nameOrId);
      await printDone(command, ['DELETE', `${PATH}/${id}`], {}, `deleted volume ${id}`);
    });
  events(group);
  ls(group);
  put(group);
  get(group);
}

interface CreateOptions {
  readonly class: string;
  readonly sizeMb?: string;
  readonly ttlHours?: string;
}

/** `svc volume create NAME`. */
function create(group: Command): void {
  group
    .command('create')
    .description('create a volume')
    .argument('<name>', 'unique in the tenant')
    .option('--class <class>', 'persistent, or ephemeral: deleted after its time-to-live', 'persistent')
    .option('--size-mb <number>', "size limit in MiB (default: the node's)")
    .option('--ttl-hours <number>', "time-to-live of an ephemeral volume (default: the node's)")
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const sizeMb = wholeNumber(options.sizeMb, '--size-mb', 1);
      const hours = wholeNumber(options.ttlHours, '--ttl-hours', 1);
      const json = {
        name,
        storage_class: options.class,
        size_limit_bytes: sizeMb === undefined ? undefined : Number(sizeMb) * MiB,
        ttl_hours: hours === undefined ? undefined : Number(hours),
      };
      await printDone(command, ['POST', PATH], { json }, (answer) => `created volume ${textOf(answer, 'id')}`);
    });
}

/** `svc volume list`: newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list volumes, including those of workflow executions')
    .option('--limit <count>', 'maximum number of volumes')
    .action(async (options: { limit?: string }, command: Command) => {
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['name', 'id', 'storage_class', 'used_bytes', 'size_limit_bytes', 'expires_at'];
      await printList(command, { path: PATH, member: 'volumes', query, columns });
    });
}

/** `svc volume events VOLUME`: newest first. */
function events(group: Command): void {
  group
    .command('events')
    .description('list what was done to a volume and its files, newest first')
    .argument('<volume>', 'name or id')
    .option('--event <name>', 'only events of this name, such as FileWritten')
    .option('--path <path>', 'only events of this path')
    .option('--limit <count>', 'maximum number of events')
    .action(async (nameOrId: string, options: Readonly<Record<string, string | undefined>>, command: Command) => {
      const path = `${await pathOf(contextOf(command).client, nameOrId)}/events`;
      const query = { event: options.event, path: options.path, limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['at', 'event', 'path', 'workflow_execution_id'];
      await printList(command, { path, member: 'events', query, columns });
    });
}

/** `svc volume ls VOLUME [PATH]`. */
function ls(group: Command): void {
  group
    .command('ls')
    .description('list a directory of a volume')
    .argument('<volume>', 'name or id')
    .argument('[path]', 'directory', '/')
    .action(async (nameOrId: string, path: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const url = `${await pathOf(client, nameOrId)}/files`;
      const answer = await client.json('GET', url, { query: { path }, repeatable: true });
      const columns = ['kind', 'size_bytes', 'modified_at', 'name'];
      await print(output, { value: answer, rows: { items: listOf(answer, 'entries'), columns } });
    });
}

/** `svc volume put VOLUME FILE [PATH]`. */
function put(group: Command): void {
  group
    .command('put')
    .description('copy a file into a volume')
    .argument('<volume>', 'name or id')
    .argument('<file>', 'local file; - reads standard input')
    .argument('[path]', 'path in the volume (default: the name of the file)')
    .action(async (nameOrId: string, file: string, given: string | undefined, _options: object, command: Command) => {
      const path = given ?? (file === '-' ? '' : basename(file));
      if (path === '') throw invalid('PATH: expected a path in the volume for the content of standard input');
      const text = await contentOf(file);
      const url = `${await pathOf(contextOf(command).client, nameOrId)}/files/content`;
      const call = { query: { path }, body: { type: 'application/octet-stream', text } };
      const done = (answer: object): string => `wrote ${counted(text.length, 'byte')} to ${textOf(answer, 'path')}`;
      await printDone(command, ['PUT', url], call, done);
    });
}

/** `svc volume get VOLUME PATH [FILE]`. */
function get(group: Command): void {
  group
    .command('get')
    .description('copy a file out of a volume')
    .argument('<volume>', 'name or id')
    .argument('<path>', 'file in the volume')
    .argument('[file]', 'local file (default: standard output)')
    .action(async (nameOrId: string, path: string, file: string | undefined, _options: object, command: Command) => {
      const { client } = contextOf(command);
      const url = `${await pathOf(client, nameOrId)}/files/content`;
      const headers = { accept: '*/*' };
      const content = await client.bytes('GET', url, { query: { path }, headers, repeatable: true });
      if (file === undefined) process.stdout.write(content);
      else await writeFile(file, content);
    });
}

async function contentOf(file: string): Promise<Uint8Array<ArrayBuffer>> {
  if (file === '-') return new Uint8Array(await buffer(process.stdin));
  try {
    return new Uint8Array(await readFile(file));
  } catch (thrown) {
    throw unreadable('FILE', file, thrown);
  }
}
