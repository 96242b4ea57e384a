/**
 * Writes the generated parts of the clients from the API description: types of inputs and answers, and one method for each
 * operation.
 *
 *   node clients/generate.ts openapi.json    from a file
 *   node clients/generate.ts                 from a node that is started for it
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { OpenApi } from './api-description.ts';
import { pythonClient } from './python/operations-text.ts';
import { typescriptClient } from './typescript/operations-text.ts';

/** The generated files of all clients, by their path in the repository. */
export function generatedClients(document: OpenApi): ReadonlyMap<string, string> {
  const python = Object.entries(pythonClient(document)).map(
    ([module, text]) => [`clients/python/src/svc_client/gen/${module}.py`, text] as const,
  );
  return new Map([['clients/typescript/gen/operations.ts', typescriptClient(document)], ...python]);
}

/** The API description of a node that runs for this call only. */
async function describedByNode(): Promise<OpenApi> {
  const data = mkdtempSync(join(tmpdir(), 'svc-client-'));
  const main = join(import.meta.dirname, '..', 'main.ts');
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
  for (const [path, text] of generatedClients(document)) {
    const target = join(import.meta.dirname, '..', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}
