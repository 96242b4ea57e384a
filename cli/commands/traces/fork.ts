import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type CliContext, contextOf } from '../../context.ts';
import { CliFailure, EXIT, invalid } from '../../failure.ts';
import { type JsonObject, parseJson, textOf } from '../../json.ts';
import { listed, type Query } from '../../list-pages.ts';
import { counted, print } from '../../output.ts';
import { readInput, readObject, readText, several, wholeNumber } from '../../read-input.ts';

interface Changes {
  readonly input?: string;
  readonly context?: string;
  readonly blackboard?: string;
  readonly manifest?: string;
  readonly version?: string;
  readonly reason?: string;
}

interface ForkOptions extends Changes {
  readonly at?: string;
  readonly idempotencyKey?: string;
  readonly filter: readonly string[];
  readonly rate?: string;
  readonly limit?: string;
}

/** `svc fork RUN`, or all runs that `--filter` finds: new runs that continue from a message of existing ones. */
export function fork(program: Command): void {
  program
    .command('fork')
    .description('start a new run from a message of another one; what is before the message is not repeated')
    .argument('[run]', 'execution id, of an agent or a workflow; without it --filter says which runs')
    .option('--at <message>', 'id of the last message that comes from the record (default: the last one)')
    .option('--input <json>', 'another input: JSON or text; @FILE reads a file, - standard input')
    .option('--context <json>', 'changed values of the prompt of an agent, a JSON object; @FILE or - as above')
    .option('--blackboard <json>', 'changed entries of the blackboard, a JSON object; @FILE or - as above')
    .option('--manifest <file>', 'YAML file of another manifest; it needs the right to deploy')
    .option('--version <version>', 'another deployed version')
    .option('--reason <text>', 'why, for people; shown with the fork')
    .option('--idempotency-key <key>', 'the same key with the same options starts no second run')
    .option('--filter <field=value>', 'fork all runs that match, as a filter of runs list; repeatable', several, [])
    .option('--rate <rate>', 'starts of a filter, such as 5/s or 30/m (default: 1/s)')
    .option('--limit <count>', `maximum number of runs of a filter (default: ${DEFAULT_LIMIT})`)
    .action(async (run: string | undefined, options: ForkOptions, command: Command) => {
      const context = contextOf(command);
      if ((run === undefined) === (options.filter.length === 0)) throw invalid('expected either a run or --filter');
      const changes = await changesOf(options);
      if (run !== undefined) await forkOne(context, run, options, changes);
      else await forkAll(context, options, changes);
    });
}

const DEFAULT_LIMIT = 100;

const MOST_RUNS = 10_000;

async function changesOf({ input, context, blackboard, manifest, version, reason }: Changes): Promise<JsonObject> {
  if (manifest !== undefined && version !== undefined) throw invalid('expected --manifest or --version, not both');
  const changes = {
    input: input === undefined ? undefined : jsonOrText(await readInput(input, '--input')),
    context: context === undefined ? undefined : await readObject(context, '--context'),
    blackboard: blackboard === undefined ? undefined : await readObject(blackboard, '--blackboard'),
    manifest: manifest === undefined ? undefined : await readText(manifest, '--manifest'),
    version,
    reason,
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

const jsonOrText = (text: string): unknown => parseJson(text) ?? text;

function forked({ client }: CliContext, run: string, key: string, json: JsonObject): Promise<JsonObject> {
  const headers = { 'idempotency-key': key };
  return client.json('POST', `/v1/runs/${encodeURIComponent(run)}/fork`, { json, headers, repeatable: true });
}

async function forkOne(context: CliContext, run: string, options: ForkOptions, changes: JsonObject): Promise<void> {
  if (options.rate !== undefined || options.limit !== undefined) throw invalid('--rate and --limit belong to --filter');
  const at = options.at === undefined ? {} : { message_id: options.at };
  const answer = await forked(context, run, options.idempotencyKey ?? randomUUID(), { ...at, ...changes });
  const waits = textOf(answer.waiting_for, 'reason');
  if (waits !== '') process.stderr.write(`${waits}\n`);
  const text = `forked ${run} at message ${textOf(answer.forked_from, 'message_id')}: ${textOf(answer, 'id')}`;
  await print(context.output, { value: answer, text });
}

/**
 * The idempotency keys are derived from one key and the runs' ids, so an interrupted command can continue with the same key.
 */
async function forkAll(context: CliContext, options: ForkOptions, changes: JsonObject): Promise<void> {
  if (options.at !== undefined) throw invalid('--at belongs to one run; a filter forks each run at its last message');
  const limit = Number(wholeNumber(options.limit, '--limit', 1) ?? DEFAULT_LIMIT);
  if (limit > MOST_RUNS) throw invalid(`--limit: at most ${MOST_RUNS} runs`);
  const pauseMs = pauseOf(options.rate ?? '1/s');
  const query = { ...queryOf(options.filter), limit: String(limit) };
  const runs = await listed(context.client, '/v1/runs', 'runs', query);
  const key = options.idempotencyKey ?? randomUUID();
  process.stderr.write(`${counted(runs.length, 'run')} to fork under the key ${key}\n`);
  const results: JsonObject[] = [];
  for (const [index, run] of runs.entries()) {
    const id = textOf(run, 'id');
    const began = Date.now();
    results.push(await forkedOrRefused(context, id, `${key}-${id}`, changes));
    process.stderr.write(`${index + 1} of ${runs.length}: ${lineOf(results.at(-1))}\n`);
    if (index + 1 < runs.length) await sleep(Math.max(0, began + pauseMs - Date.now()));
  }
  const rows = { items: results, columns: ['run', 'id', 'message_id', 'error'] };
  await print(context.output, { value: results, rows });
  const refused = results.filter(({ error }) => error !== null).length;
  if (refused > 0) throw new CliFailure(EXIT.conflict, `${refused} of ${counted(runs.length, 'run')} were not forked`);
}

/** A run that cannot be forked does not stop the others; an unreachable node does. */
async function forkedOrRefused(context: CliContext, run: string, key: string, json: JsonObject): Promise<JsonObject> {
  try {
    const answer = await forked(context, run, key, json);
    return { run, id: textOf(answer, 'id'), message_id: textOf(answer.forked_from, 'message_id'), error: null };
  } catch (thrown) {
    if (!(thrown instanceof CliFailure) || !ONE_RUN.has(thrown.exitCode)) throw thrown;
    return { run, id: null, message_id: null, error: thrown.message };
  }
}

const ONE_RUN: ReadonlySet<number> = new Set([EXIT.notFound, EXIT.conflict, EXIT.validation]);

const lineOf = (result: JsonObject | undefined): string =>
  result?.error === null ? `${textOf(result, 'run')} -> ${textOf(result, 'id')}` : textOf(result, 'error');

/** Milliseconds between two starts. */
function pauseOf(rate: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,2})\/([sm])$/.exec(rate) ?? [];
  if (count === '') throw invalid(`--rate: expected a rate such as 5/s or 30/m, got ${rate}`);
  return (unit === 's' ? 1_000 : 60_000) / Number(count);
}

function queryOf(filter: readonly string[]): Query {
  const query: Record<string, string[]> = {};
  for (const condition of filter) {
    const at = condition.indexOf('=');
    if (at < 1) throw invalid(`--filter: expected FIELD=VALUE, got ${condition}`);
    const field = condition.slice(0, at).replaceAll('-', '_');
    query[field] = [...(query[field] ?? []), condition.slice(at + 1)];
  }
  return query;
}
