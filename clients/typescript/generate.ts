/**
 * Writes gen/operations.ts from the API description: types of inputs and answers, and one method for each operation.
 *
 *   node clients/typescript/generate.ts openapi.json    from a file
 *   node clients/typescript/generate.ts                 from a node that is started for it
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { methodsOf, type OpenApi } from './methods.ts';
import { typeText } from './type-text.ts';

const TARGET = join(import.meta.dirname, 'gen', 'operations.ts');

/** The text of gen/operations.ts for an API description. Throws where the description has something it cannot say. */
export function clientText(document: OpenApi): string {
  const methods = methodsOf(document);
  const named = Object.entries(document.components?.schemas ?? {});
  const lines = [
    '// Made by clients/typescript/generate.ts from the API description; do not edit.',
    'import type { CallOptions, Route, Sender, StreamedEvent } from "../client.ts";',
    '',
    ...named.flatMap(([name, schema]) => [`export type ${name} = ${typeText(schema)};`, '']),
    '/** The operations of the API, by resource. */',
    'export interface SvcClient {',
  ];
  for (const [resource, ofResource] of Map.groupBy(methods, (method) => method.resource)) {
    lines.push(`  readonly ${resource}: {`);
    for (const method of ofResource) lines.push(...method.signature.map((line) => `    ${line}`));
    lines.push('  };');
  }
  lines.push('}', '');
  for (const { constant, route } of methods) lines.push(`const ${constant}: Route = ${JSON.stringify(route)};`);
  lines.push('', '/** The operations, sent by `sender`. */');
  lines.push('export const operationsOf = (sender: Sender): SvcClient => ({');
  for (const [resource, ofResource] of Map.groupBy(methods, (method) => method.resource)) {
    lines.push(`  ${resource}: {`);
    for (const { verb, constant, route, hasInput } of ofResource) {
      const given = hasInput ? 'input, options' : 'options';
      lines.push(
        `    ${verb}: (${given}) => sender.${route.answer}(${constant}, ${hasInput ? 'input' : '{}'}, options),`,
      );
    }
    lines.push('  },');
  }
  lines.push('});', '');
  return lines.join('\n');
}

/** The API description of a node that runs for this call only. */
async function describedByNode(): Promise<OpenApi> {
  const data = mkdtempSync(join(tmpdir(), 'svc-client-'));
  const main = join(import.meta.dirname, '..', '..', 'main.ts');
  const node = spawn(process.execPath, [main, '--http-port', '0', '--grpc-port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    for await (const line of createInterface(node.stdout)) {
      const url = /^REST\s+(\S+)/.exec(line)?.[1];
      if (url !== undefined) return JSON.parse(await (await fetch(`${url}/v1/openapi.json`)).text());
    }
    throw new Error('the node ended before it said where its API is');
  } finally {
    node.kill();
    rmSync(data, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  const document = file === undefined ? await describedByNode() : JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(TARGET, clientText(document));
}
