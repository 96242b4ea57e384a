import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { listed, pagesOf } from '../list-pages.ts';
import type { NodeClient } from '../node-client.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const MiB = 1024 * 1024;

interface Options {
  readonly class: string;
  readonly sizeMb?: string;
  readonly ttlHours?: string;
}

/** `svc volume create NAME`. */
export function volumeCreate(volume: Command): void {
  volume
    .command('create')
    .description('create a volume')
    .argument('<name>', 'unique in the tenant')
    .option('--class <class>', 'persistent, or ephemeral: removed after its time', 'persistent')
    .option('--size-mb <number>', "size limit in MiB (default: the node's)")
    .option('--ttl-hours <number>', "ephemeral only (default: the node's)")
    .action(async (name: string, options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const sizeMb = wholeNumber(options.sizeMb, '--size-mb', 1);
      const hours = wholeNumber(options.ttlHours, '--ttl-hours', 1);
      const json = {
        ...{ name, storage_class: options.class },
        ...(sizeMb === undefined ? {} : { size_limit_bytes: Number(sizeMb) * MiB }),
        ...(hours === undefined ? {} : { ttl_hours: Number(hours) }),
      };
      const answer = await client.json('POST', '/v1/volumes', { json });
      await print(output, { value: answer, text: `created volume ${textOf(answer, 'id')}` });
    });
}

const COLUMNS = ['name', 'id', 'storage_class', 'used_bytes', 'size_limit_bytes', 'expires_at'];

/** `svc volume list`: newest first. */
export function volumeList(volume: Command): void {
  volume
    .command('list')
    .description('list volumes, those of workflow executions too')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const items = await listed(client, '/v1/volumes', 'volumes', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

/** `svc volume show NAME|ID`. */
export function volumeShow(volume: Command): void {
  volume
    .command('show')
    .description('show a volume and how full it is')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await volumeId(client, nameOrId);
      await print(output, { value: await client.json('GET', `/v1/volumes/${id}`, { repeatable: true }) });
    });
}

/** `svc volume delete NAME|ID`: with all its files. */
export function volumeDelete(volume: Command): void {
  volume
    .command('delete')
    .alias('remove')
    .description('delete a volume with all its files')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await volumeId(client, nameOrId);
      const answer = await client.json('DELETE', `/v1/volumes/${id}`);
      await print(output, { value: answer, text: `deleted volume ${id}` });
    });
}

/** `svc volume ls VOLUME [PATH]`. */
export function volumeLs(volume: Command): void {
  volume
    .command('ls')
    .description('list a directory of a volume')
    .argument('<volume>', 'name or id')
    .argument('[path]', 'directory', '/')
    .action(async (nameOrId: string, path: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const url = `/v1/volumes/${await volumeId(client, nameOrId)}/files`;
      const answer = await client.json('GET', url, { query: { path }, repeatable: true });
      const columns = ['kind', 'size_bytes', 'modified_at', 'name'];
      await print(output, { value: answer, rows: { items: listOf(answer, 'entries'), columns } });
    });
}

/** `svc volume put VOLUME FILE [PATH]`. */
export function volumePut(volume: Command): void {
  volume
    .command('put')
    .description('copy a file into a volume')
    .argument('<volume>', 'name or id')
    .argument('<file>', 'file here; - for standard input')
    .argument('[path]', 'where it goes; default: its name')
    .action(async (nameOrId: string, file: string, given: string | undefined, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const path = given ?? (file === '-' ? '' : basename(file));
      if (path === '') throw invalid('PATH: expected where the content of standard input goes');
      const text = await contentOf(file);
      const body = { type: 'application/octet-stream', text };
      const url = `/v1/volumes/${await volumeId(client, nameOrId)}/files/content`;
      const answer = await client.json('PUT', url, { query: { path }, body });
      await print(output, { value: answer, text: `wrote ${text.length} bytes to ${textOf(answer, 'path')}` });
    });
}

/** `svc volume get VOLUME PATH [FILE]`. */
export function volumeGet(volume: Command): void {
  volume
    .command('get')
    .description('copy a file out of a volume')
    .argument('<volume>', 'name or id')
    .argument('<path>', 'file in the volume')
    .argument('[file]', 'where it goes; default: standard output')
    .action(async (nameOrId: string, path: string, file: string | undefined, _options: object, command: Command) => {
      const { client } = contextOf(command);
      const url = `/v1/volumes/${await volumeId(client, nameOrId)}/files/content`;
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
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    throw invalid(`FILE: the file ${file} cannot be read (${code})`);
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const PAGE = 1_000;

/** The id of a volume given by name or id. */
async function volumeId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  for await (const volumes of pagesOf(client, '/v1/volumes', 'volumes', { limit: String(PAGE) })) {
    const found = volumes.find((volume) => textOf(volume, 'name') === nameOrId);
    if (found !== undefined) return textOf(found, 'id');
  }
  throw new CliFailure(EXIT.notFound, `there is no volume ${nameOrId}`);
}
