import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { CliFailure, EXIT } from '../../failure.ts';
import { type JsonObject, listOf, numberOf, textOf } from '../../json.ts';
import type { NodeClient } from '../../node-client.ts';
import { counted, isForMachines, print } from '../../output.ts';
import { printList } from '../../print-answer.ts';
import { wholeNumber } from '../../read-input.ts';
import { forReader, paintFor } from '../../screen/paint.ts';
import { duration, shares, traceTree } from './trace-tree.ts';
import { readRun } from './why.ts';

const PATH = '/v1/traces';

const ID = ['<trace>', 'id of a trace, or of an execution or workflow run'] as const;

const ALL_THAT_HAS_IDS = 'run, execution, workflow or trace';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** A delivery can be read about half a second after its commit, so the trace of a new run exists by then. */
const READABLE_WITHIN_MS = 3_000;
const LOOK_AGAIN_MS = 100;

/** Reads one trace. A UUID is that of a run, which has the id of its trace. */
class TraceReader {
  readonly #client: NodeClient;
  readonly #path: string;
  readonly #until: number;

  private constructor(client: NodeClient, trace: string, waitMs: number) {
    this.#client = client;
    this.#path = `${PATH}/${encodeURIComponent(trace)}`;
    this.#until = Date.now() + waitMs;
  }

  static async of(client: NodeClient, id: string): Promise<TraceReader> {
    if (!UUID.test(id)) return new TraceReader(client, id, 0);
    const trace = textOf(await readRun({ client }, id, '', ALL_THAT_HAS_IDS), 'trace_id');
    if (trace === '')
      throw new CliFailure(EXIT.notFound, `run ${id} was started by an earlier version and has no trace`);
    return new TraceReader(client, trace, READABLE_WITHIN_MS);
  }

  /** `rest`: the suffix of the trace's address, such as `/summary`. */
  async read(rest = '', query: Readonly<Record<string, string | undefined>> = {}): Promise<JsonObject> {
    for (;;) {
      try {
        return await this.#client.json('GET', `${this.#path}${rest}`, { query, repeatable: true });
      } catch (thrown) {
        const isNotYetThere = thrown instanceof CliFailure && thrown.exitCode === EXIT.notFound;
        if (!isNotYetThere || Date.now() >= this.#until) throw thrown;
        await sleep(LOOK_AGAIN_MS);
      }
    }
  }
}

/** `svc trace …`: the messages that one call of a client caused. */
export function trace(program: Command): void {
  const group = program.command('trace').description('list and show traces: what a call led to, message by message');
  list(group);
  show(group);
  criticalPath(group);
  summary(group);
}

interface ListOptions {
  readonly kind?: string;
  readonly name?: string;
  readonly status?: string;
  readonly from?: string;
  readonly to?: string;
  readonly text?: string;
  readonly node?: string;
  readonly errorCode?: string;
  readonly actorKind?: string;
  readonly minDuration?: string;
  readonly limit?: string;
}

function list(group: Command): void {
  group
    .command('list')
    .description('list traces, newest first')
    .option('--kind <kind>', 'kind of the actor that the root went to, such as execution')
    .option('--name <name>', 'name of the agent or workflow')
    .option('--status <status>', 'running, completed, failed or cancelled')
    .option('--from <time>', 'began at this time or later, ISO 8601')
    .option('--to <time>', 'began at this time or earlier, ISO 8601')
    .option('--min-duration <ms>', 'shortest duration, milliseconds')
    .option('--error-code <code>', 'code of the failure')
    .option('--node <node>', 'node that handled the root')
    .option('--actor-kind <kind>', 'a kind of actors that got a delivery')
    .option('--text <text>', 'part of a name, id, error, or of the payload of the root')
    .option('--limit <count>', 'maximum number of traces (default: 50)')
    .action(async (options: ListOptions, command: Command) => {
      const { errorCode, actorKind, minDuration, limit = '50', ...same } = options;
      const query = {
        ...same,
        error_code: errorCode,
        actor_kind: actorKind,
        min_duration_ms: wholeNumber(minDuration, '--min-duration', 0),
        limit: wholeNumber(limit, '--limit', 1),
      };
      const columns = ['trace_id', 'started_at', 'kind', 'name', 'status', 'duration', 'error_code'];
      const row = (one: JsonObject): JsonObject => ({ ...one, duration: durationOf(one) });
      await printList(command, { path: PATH, member: 'traces', query, columns, row });
    });
}

const durationOf = (row: JsonObject): string | null =>
  typeof row.duration_ms === 'number' ? duration(row.duration_ms) : null;

/** All pages of a trace as one answer. */
async function whole(client: NodeClient, id: string): Promise<JsonObject> {
  const trace = await TraceReader.of(client, id);
  const deliveries: JsonObject[] = [];
  const effects: JsonObject[] = [];
  for (let next: string | undefined; ; ) {
    const answer = await trace.read('', { next });
    deliveries.push(...listOf(answer, 'deliveries'));
    effects.push(...listOf(answer, 'effects'));
    next = textOf(answer, 'next') || undefined;
    if (next === undefined) return { ...answer, deliveries, effects };
  }
}

function show(group: Command): void {
  group
    .command('show', { isDefault: true })
    .description('show the deliveries and effects of a trace as a tree of causes, with bars of time')
    .argument(...ID)
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await whole(client, id);
      if (isForMachines(output)) return print(output, { value: answer });
      const tree = traceTree(
        listOf(answer, 'deliveries'),
        listOf(answer, 'effects'),
        paintFor(process.stdout, process.env),
        Date.now(),
        process.stdout.isTTY ? process.stdout.columns || 80 : undefined,
      );
      await print(output, { value: answer, text: `${forReader(headOf(answer))}\n\n${tree}`, isPainted: true });
    });
}

const RELATIONS: Readonly<Record<string, string>> = {
  next: 'goes on in',
  previous: 'goes on from',
  run: 'called the run of',
  call: 'the run was called by',
  forked_from: 'was forked from the run of',
};

/** `trace ID: completed, from TIME to TIME`. */
function headOf(answer: JsonObject): string {
  const [id, status, from, to, kept] = ['trace_id', 'status', 'started_at', 'ended_at', 'kept_from'].map((field) =>
    textOf(answer, field),
  );
  const removed = kept === '' ? '' : `\nolder deliveries were removed: kept from ${kept} on`;
  const links = listOf(answer, 'links').map((link) => {
    return `\n${RELATIONS[textOf(link, 'relation')] ?? 'belongs to'} trace ${textOf(link, 'trace_id')}`;
  });
  return `trace ${id}: ${status}, from ${from}${to === '' ? '' : ` to ${to}`}${removed}${links.join('')}`;
}

function criticalPath(group: Command): void {
  group
    .command('critical-path')
    .description('show the chain of causes that ended last')
    .argument(...ID)
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await (await TraceReader.of(client, id)).read('/critical-path');
      const rows = listOf(answer, 'steps').map((step) => {
        const what = textOf(step, 'effect_kind') || `${textOf(step, 'type')} → ${textOf(step, 'to')}`;
        return { name: `${textOf(step, 'kind')}  ${what}`, ms: numberOf(step, 'ms') };
      });
      await print(output, {
        value: answer,
        text: `${headOf(answer)}\n\n${shares(rows, numberOf(answer, 'duration_ms'))}`,
      });
    });
}

function summary(group: Command): void {
  group
    .command('summary')
    .description('show where the time of a trace went')
    .argument(...ID)
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await (await TraceReader.of(client, id)).read('/summary');
      const rows = [
        { name: 'mailboxes', ms: numberOf(answer, 'mailbox_ms') },
        { name: 'turns', ms: numberOf(answer, 'turns_ms') },
        ...listOf(answer, 'effects').map((one) => ({
          name: `effects ${textOf(one, 'kind')} (${textOf(one, 'count')})`,
          ms: numberOf(one, 'ms'),
        })),
        { name: 'timers', ms: numberOf(answer, 'timers_ms') },
        { name: 'people', ms: numberOf(answer, 'people_ms') },
      ];
      const duration_ms = numberOf(answer, 'duration_ms');
      const counts = `${counted(numberOf(answer, 'deliveries'), 'delivery', 'deliveries')} in ${duration(duration_ms)}`;
      const isMore = rows.some(({ ms }) => ms > duration_ms);
      const parallel = isMore ? '\nTimes of work in parallel add up, so a share may exceed 100 %.' : '';
      const text = `${headOf(answer)}\n${counts}${parallel}\n\n${shares(rows, duration_ms)}`;
      await print(output, { value: answer, text });
    });
}
