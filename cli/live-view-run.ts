import { randomUUID } from 'node:crypto';
import { isObject, listOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { printable } from './printable.ts';
import { readInput, readObject } from './read-input.ts';
import { workflowPath } from './workflow-path.ts';

/** What a run of a workflow is given on the command line. */
export interface RunOptions {
  readonly input?: string;
  readonly intent?: string;
  readonly blackboard?: string;
  readonly version?: string;
}

/** Starts a run of the workflow and answers its execution id. */
export async function startRun(client: NodeClient, nameOrId: string, options: RunOptions): Promise<string> {
  const { input, intent, blackboard, version } = options;
  const json = {
    ...(input === undefined ? {} : { input: await readObject(input, '--input') }),
    ...(intent === undefined ? {} : { intent: await readInput(intent, '--intent') }),
    ...(blackboard === undefined ? {} : { blackboard: await readObject(blackboard, '--blackboard') }),
    ...(version === undefined ? {} : { version }),
  };
  const answer = await client.json('POST', `${await workflowPath(client, nameOrId)}/run`, {
    json,
    // Sent again after a cut connection, it starts nothing twice.
    headers: { 'idempotency-key': randomUUID() },
    repeatable: true,
  });
  return textOf(answer, 'execution_id');
}

/** States of a workflow in the order of its manifest. */
export async function statesOf(client: NodeClient, nameOrId: string, version?: string): Promise<readonly string[]> {
  const path = await workflowPath(client, nameOrId);
  const { manifest } = await client.json('GET', path, { query: { version }, repeatable: true });
  const spec = isObject(manifest) ? manifest.spec : undefined;
  const states = isObject(spec) ? spec.states : undefined;
  return isObject(states) ? Object.keys(states) : [];
}

/** One line for each finding of the checker, with what to write instead. */
export const findingLines = (answer: unknown, key: 'findings' | 'warnings'): readonly string[] =>
  listOf(answer, key).map((finding) => {
    const [severity, rule, line, path] = ['severity', 'rule', 'line', 'path'].map((name) => textOf(finding, name));
    const place = `line ${line}${path === '' ? '' : `, ${path}`}`;
    return `${severity} ${rule} (${place}): ${textOf(finding, 'message')}\n    ${textOf(finding, 'cure')}`;
  });

/** Warnings go to standard error: they stop nothing. */
export function warn(answer: unknown): void {
  for (const line of findingLines(answer, 'warnings')) process.stderr.write(`${printable(line)}\n`);
}
