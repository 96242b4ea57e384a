import type { Command } from 'commander';
import { isObject, type JsonObject, textOf } from '../json.ts';
import { printList } from '../print-answer.ts';
import { several, wholeNumber } from '../read-input.ts';

interface ListOptions {
  readonly status: readonly string[];
  readonly outcome?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly version?: string;
  readonly label: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly tag: readonly string[];
  readonly node?: string;
  readonly waitReason: readonly string[];
  readonly errorCode?: string;
  readonly parent?: string;
  readonly trace?: string;
  readonly text?: string;
  readonly limit?: string;
}

const DEFAULT_LIMIT = '50';

const COLUMNS = [
  ...['id', 'kind', 'name', 'version', 'status', 'outcome'],
  ...['waits for', 'started', 'duration', 'labels', 'node'],
];

/** `svc runs list`: executions of agents and workflows in one list. */
export function runs(program: Command): void {
  program
    .command('runs')
    .description('executions of agents and workflows in one list')
    .command('list')
    .description('list executions of agents and workflows, newest first')
    .option(
      '--status <status>',
      'pending, running, waiting_for_human_input, completed, failed or cancelled; repeatable',
      several,
      [],
    )
    .option('--outcome <outcome>', 'succeeded, failed or cancelled')
    .option('--kind <kind>', 'execution or workflow')
    .option('--name <name>', 'name of the agent or workflow')
    .option('--version <version>', 'version of the agent or workflow')
    .option('--label <key=value>', 'label given at the start; repeatable, all must match', several, [])
    .option('--from <time>', 'started at this time or later, ISO 8601')
    .option('--to <time>', 'started before this time, ISO 8601')
    .option('--tag <tag>', 'tag that its node must have; repeatable, all must match', several, [])
    .option('--node <node>', 'id of the node that handled its last message')
    .option(
      '--wait-reason <kind>',
      'node, timer, approval, child, judges, effect, volumes or turn; repeatable',
      several,
      [],
    )
    .option('--error-code <code>', 'code of the failure')
    .option('--parent <id>', 'id of the run, panel of judges or stimulus that started it')
    .option('--trace <id>', 'id of its trace')
    .option('--text <text>', 'the beginning of the id, or a part of the name')
    .option('--limit <count>', `maximum number of runs (default: ${DEFAULT_LIMIT})`)
    .action(async (options: ListOptions, command: Command) => {
      const { waitReason, errorCode, trace, limit = DEFAULT_LIMIT, ...same } = options;
      const conditions = { ...same, wait_reason: waitReason, error_code: errorCode, trace_id: trace };
      const query = { ...conditions, limit: wholeNumber(limit, '--limit', 1) };
      await printList(command, { path: '/v1/runs', member: 'runs', query, columns: COLUMNS, row: runRow });
    });
}

/** A run for people: its time without fractions, its duration with a unit, its labels as given. */
const runRow = (run: JsonObject): JsonObject => ({
  ...run,
  ...timesOf(run),
  'waits for': run.wait_reason,
  labels: isObject(run.labels)
    ? Object.entries(run.labels)
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(' ') || null
    : null,
});

/** Start and duration of a run for people; an unfinished one has no duration. */
export function timesOf(run: JsonObject): JsonObject {
  const [started_at, ended_at] = [textOf(run, 'started_at'), textOf(run, 'ended_at')];
  const ms = Date.parse(ended_at) - Date.parse(started_at);
  return {
    started: started_at.replace(/\.\d+Z$/, 'Z') || null,
    duration: Number.isNaN(ms) ? null : durationText(Math.max(0, ms)),
  };
}

/** `850 ms`, `2.4 s`, `3 min 20 s`, `5 h 12 min`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
