import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { volumeId } from '../find-volume.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';

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
