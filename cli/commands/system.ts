import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { problemLine } from '../findings.ts';
import { isObject, listOf, parseJson, textOf } from '../json.ts';
import { readManifest } from '../manifest-file.ts';
import { isForMachines, print } from '../output.ts';
import { structuredOf } from '../tool-call.ts';

/** `svc system`, `svc schema` and `svc runtime`: the tools svc.system.*, svc.schema.* and svc.runtime.list. */
export function system(program: Command): void {
  const group = program.command('system').description('show version, health and configuration of the node');
  group
    .command('info')
    .description('show version, health and the tools that you may use')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      await print(output, { value: await structuredOf(client, 'svc.system.info') });
    });
  group
    .command('config')
    .description('print the configuration that the node started with, without secrets')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const value = await structuredOf(client, 'svc.system.config');
      await print(output, { value, text: textOf(value, 'content_yaml') });
    });
  schema(program.command('schema').description('print the schema of a manifest, or validate a manifest'));
  program
    .command('runtime')
    .description('languages and versions for agents: list')
    .command('list')
    .description('list the languages and versions that agents can use')
    .option('--language <language>', 'only this language')
    .action(async (options: { language?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await structuredOf(client, 'svc.runtime.list', { ...options }), 'runtimes');
      const columns = ['language', 'version', 'deprecated', 'image', 'description'];
      await print(output, { value: items, rows: { items, columns } });
    });
}

function schema(group: Command): void {
  group
    .command('get')
    .description('print the JSON Schema of a kind of manifest')
    .argument('<kind>', 'agent or workflow')
    .action(async (kind: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const value = await client.json('GET', `/v1/schemas/${encodeURIComponent(kind)}`, { repeatable: true });
      await print(output === 'yaml' ? output : 'json', { value });
    });
  group
    .command('validate')
    .description('validate a manifest without deploying it')
    .argument('<kind>', 'agent or workflow')
    .argument('<file>', 'manifest; - reads standard input')
    .action(async (kind: string, file: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const manifest = await readManifest(file);
      const value = await structuredOf(client, 'svc.schema.validate', { kind, manifest_yaml: manifest.text });
      if (value.valid === true) return print(output, { value, text: 'valid' });
      if (isForMachines(output)) await print(output, { value });
      const problems = listOf(value, 'errors').map((problem) => problemLine(problem, manifest.file));
      throw new CliFailure(EXIT.validation, `the ${kind} manifest is not valid`, problems);
    });
}

/** Version of the package, whose package.json is two folders up in a checkout and three in the package (dist/). */
function packageVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const found = parseJson(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (isObject(found) && found.name === 'svc-runtime') return textOf(found, 'version');
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
