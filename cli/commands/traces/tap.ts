import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { CliFailure, EXIT } from '../../failure.ts';
import { eventRecords } from '../../follow.ts';
import { isObject, type JsonObject, numberOf, parseJson, textOf } from '../../json.ts';
import { counted, isForMachines } from '../../output.ts';
import { type Paint, paintFor, printable } from '../../screen/paint.ts';
import { duration } from './trace-tree.ts';

interface TapOptions {
  readonly kind?: string;
  readonly actor?: string;
  readonly type?: string;
  readonly outcome?: string;
  readonly trace?: string;
}

/** Longest silence of the node, ms; its heartbeats are more frequent. */
const SILENCE_MS = 60_000;

/** `svc tap`: deliveries and storage events as they happen, one line each, until Ctrl-C. */
export function tap(program: Command): void {
  program
    .command('tap')
    .description('follow deliveries and storage events live, one line each, until Ctrl-C')
    .option('--kind <kind>', 'only deliveries to actors of this kind; volume: storage events')
    .option('--actor <kind/id>', 'only deliveries to this actor; volume/ID: storage events of a volume')
    .option('--type <type>', 'only messages of this type, or storage events of this name, such as FileWritten')
    .option('--outcome <outcome>', 'only this outcome, such as done, retried or dead-lettered')
    .option('--trace <trace-id>', 'only this trace')
    .action(async (options: TapOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const query = new URLSearchParams();
      for (const name of ['kind', 'actor', 'type', 'outcome', 'trace'] as const) {
        const value = options[name];
        if (value !== undefined) query.set(name, value);
      }
      const body = await client.stream(`/v1/tap?${query}`, 0, new AbortController().signal);
      if (body === null) return;
      const paint = paintFor(process.stdout, process.env);
      for await (const { data } of eventRecords(body, SILENCE_MS)) {
        const record = parseJson(data);
        if (!isObject(record)) continue;
        const ended = record.access_ended;
        if (isObject(ended)) throw new CliFailure(EXIT.permission, textOf(ended, 'message'));
        // One JSON object per line is valid YAML too.
        const line = isForMachines(output) ? JSON.stringify(record) : lineOf(record, paint);
        process.stdout.write(`${line}\n`);
      }
    });
}

function lineOf({ delivery, storage, dropped }: JsonObject, paint: Paint): string {
  if (isObject(storage)) return storageLine(storage, paint);
  if (!isObject(delivery)) return paint.yellow(`… ${counted(Number(dropped), 'record was', 'records were')} skipped`);
  const [at, type, to, outcome] = ['at', 'type', 'to', 'outcome'].map((field) => printable(textOf(delivery, field)));
  const times = `waited ${duration(numberOf(delivery, 'wait_ms'))}, turn ${duration(numberOf(delivery, 'turn_ms'))}`;
  const said = outcome === 'done' ? paint.dim('done') : paint.yellow(outcome ?? '');
  return `${paint.dim(at ?? '')}  ${type} → ${to}  ${said}  ${paint.dim(times)}`;
}

function storageLine(event: JsonObject, paint: Paint): string {
  const [at, name, volume, path] = ['at', 'event', 'volume_id', 'path'].map((field) => printable(textOf(event, field)));
  return `${paint.dim(at ?? '')}  ${name} → volume/${volume}${path === '' ? '' : `  ${path}`}`;
}
