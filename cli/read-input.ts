import { readFile } from 'node:fs/promises';
import { text as wholeText } from 'node:stream/consumers';
import { invalid } from './failure.ts';
import { isObject, type JsonObject, parseJson, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { structuredOf } from './tool-call.ts';

/** `-` is standard input, `@FILE` the text of a file, everything else itself. */
export async function readInput(given: string, option: string): Promise<string> {
  if (given === '-') return wholeText(process.stdin);
  return given.startsWith('@') ? readText(given.slice(1), option) : given;
}

/** Text of a file, or of standard input for `-`. */
export async function readText(path: string, option: string): Promise<string> {
  if (path === '-') return wholeText(process.stdin);
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    throw invalid(`${option}: the file ${path} cannot be read (${code})`);
  }
}

/**
 * What must not stand among the arguments, where others of the machine see it: `-` or `@FILE` only. What was given instead is
 * not said again, for it may be the secret itself.
 */
export async function readSecret(given: string, option: string): Promise<string> {
  if (given === '-' || given.startsWith('@')) return readInput(given, option);
  throw invalid(`${option}: expected - for standard input, or @FILE: others see what is an argument`);
}

/** A JSON object in one of the forms of `readInput`. */
export async function readObject(given: string, option: string): Promise<JsonObject> {
  const value = parseJson(await readInput(given, option));
  if (!isObject(value)) throw invalid(`${option}: expected a JSON object such as {"key": "value"}`);
  return value;
}

/** A whole number of an option. */
export function wholeNumber(given: string | undefined, option: string, least: number): string | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,9}$/.test(given) || Number(given) < least) {
    throw invalid(`${option}: expected a whole number of at least ${least}, got ${given}`);
  }
  return given;
}

/** Words that are paths of their own where a name of a workflow would stand; a test compares them with the API's description. */
export const PATH_WORDS: readonly string[] = ['executions', 'generate', 'search', 'validate'];

/** Route of a workflow that is named by its id or its name. One that is called like another path is named by its id. */
export async function workflowPath(client: NodeClient, nameOrId: string): Promise<string> {
  return `/v1/workflows/${encodeURIComponent(PATH_WORDS.includes(nameOrId) ? await idOf(client, nameOrId) : nameOrId)}`;
}

async function idOf(client: NodeClient, name: string): Promise<string> {
  const { metadata } = await structuredOf(client, 'svc.workflow.export', { name });
  return isObject(metadata) ? textOf(metadata, 'workflow_id') : '';
}
