import type { CliContext } from './context.ts';
import { CliFailure, EXIT } from './failure.ts';
import { type EventSource, type ExecutionEvent, executionStream, followEvents } from './follow.ts';
import { isObject, type JsonObject, numberOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { counted, isForMachines, print } from './output.ts';
import { describeEvent, EventLines } from './screen/event-lines.ts';
import { paintFor } from './screen/paint.ts';

interface WatchOptions {
  /** Resumes after this event. */
  readonly after: number;
  /** `events`: events to standard output; `result`: the final output there, progress to standard error. */
  readonly show: 'events' | 'result' | 'both';
}

/**
 * Follows an execution to its end and shows it. Throws `CliFailure` when it failed or was cancelled. Ctrl-C stops
 * following, not the execution, and tells how to resume.
 */
export async function watchExecution(context: CliContext, id: string, options: WatchOptions): Promise<void> {
  const screen = screenFor(context, options.show);
  const stop = new AbortController();
  const { last, ended } = await showEvents(context.client, executionStream(id), options.after, screen, stop);
  if (stop.signal.aborted) throw interrupted(context, `execution ${id}`, 'task', id, last);
  await finish(context, id, ended, options.show);
}

/** Where events are shown. */
export interface Screen {
  add(event: ExecutionEvent): void;
  note(line: string): void;
  end(): void;
}

/** Shows events until the last one or until `stop`, which Ctrl-C sets. Returns the number of the last event shown. */
export async function showEvents(
  client: NodeClient,
  source: EventSource,
  after: number,
  screen: Screen,
  stop: AbortController,
): Promise<{ readonly last: number; readonly ended: ExecutionEvent | undefined }> {
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  let last = after;
  let ended: ExecutionEvent | undefined;
  try {
    const onCut = (why: string): void => screen.note(`${why}; reconnecting`);
    for await (const event of followEvents(client, source, { after, signal: stop.signal, onCut })) {
      last = event.id;
      screen.add(event);
      if (source.isLast(event)) ended = event;
    }
  } finally {
    process.removeListener('SIGINT', interrupt);
    screen.end();
  }
  return { last, ended };
}

/** Text after Ctrl-C: how to resume, and how to cancel. */
export function interrupted(
  { again }: CliContext,
  what: string,
  group: 'task' | 'workflow',
  id: string,
  last: number,
): CliFailure {
  return new CliFailure(EXIT.interrupted, `stopped following; ${what} continues`, [
    `to resume:  ${again} ${group} logs ${id} --follow${last > 0 ? ` --after ${last}` : ''}`,
    `to cancel:  ${again} ${group} cancel ${id}`,
  ]);
}

function screenFor({ output }: CliContext, show: WatchOptions['show']): Screen {
  if (show === 'result') return new Progress();
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  const stream = show === 'events' ? process.stdout : process.stderr;
  const write = (line: string): void => void stream.write(`${line}\n`);
  // One event a line, unchanged, for machines.
  if (isForMachines(output))
    return { add: ({ data }) => write(output === 'json' ? data : `- ${data}`), note, end: () => undefined };
  const wrapAt = stream.isTTY ? Math.max(40, (stream.columns ?? 100) - 4) : 0;
  const lines = new EventLines({ write, wrapAt, paint: paintFor(stream, process.env) });
  return { add: (event) => lines.add(event), note, end: () => undefined };
}

async function finish(
  context: CliContext,
  id: string,
  ended: ExecutionEvent | undefined,
  show: WatchOptions['show'],
): Promise<void> {
  const path = `/v1/executions/${encodeURIComponent(id)}`;
  // Without a last event all events had been seen before, so the status gives the result.
  const status =
    ended === undefined || show !== 'events' ? await context.client.json('GET', path, { repeatable: true }) : null;
  if (show !== 'events') await print(context.output, { value: status, text: textOf(status, 'last_output') });
  const outcome =
    status === null ? (ended?.name === 'execution_completed' ? 'completed' : 'failed') : textOf(status, 'status');
  if (outcome === 'completed') return;
  const [reason, message] = [textOf(ended?.payload, 'reason'), textOf(ended?.payload, 'message')];
  const why = reason === '' ? [textOf(status, 'last_error')] : [reason, message];
  throw endedBadly(outcome, why);
}

const TICK_MS = 200;

const CLEAR_LINE = '\r\u001b[2K';

/** Progress on standard error: one rewritten line on a terminal, else plain lines. */
class Progress implements Screen {
  readonly #stream = process.stderr;
  readonly #startedAt = performance.now();
  #doing = 'waiting';
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    if (this.#stream.isTTY) this.#timer = setInterval(() => this.#redraw(), TICK_MS).unref();
  }

  add(event: ExecutionEvent): void {
    if (event.name === 'iteration_output') {
      this.#chars += textOf(event.payload, 'output').length;
      return;
    }
    if (event.name === 'iteration_started') {
      this.#doing = `iteration ${numberOf(event.payload, 'iteration_number')}`;
      this.#chars = 0;
    }
    if (!this.#stream.isTTY) this.note(describeEvent(event));
  }

  /** A line that is not rewritten. */
  note(line: string): void {
    if (this.#timer === undefined) this.#stream.write(`${line}\n`);
    else this.#stream.write(`${CLEAR_LINE}${line}\n`);
  }

  /** Clears the rewritten line. */
  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stream.write(CLEAR_LINE);
  }

  #redraw(): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    const output = this.#chars === 0 ? '' : ` · ${counted(this.#chars, 'character')}`;
    this.#stream.write(`${CLEAR_LINE}${this.#doing} · ${seconds} s${output}`);
  }
}

/**
 * An execution for people, with what it waits for as a sentence: "waiting for a node with tags gpu", or "waiting for an
 * agent: iteration 1 waits for its model, attempt 1 on node n1 (until 2026-01-01T00:00:00.000Z)".
 */
export function waitingInWords(execution: JsonObject): JsonObject {
  const { waiting_for } = execution;
  return isObject(waiting_for) ? { ...execution, waiting_for: waitInWords(waiting_for) } : execution;
}

/** What a run waits for, as a sentence; empty for nothing. */
export const waitInWords = (wait: unknown): string => (isObject(wait) ? sentence(wait) : '');

function sentence(wait: JsonObject): string {
  const approval = textOf(wait, 'approval_id');
  const plain = textOf(wait, 'reason');
  const reason = approval === '' || plain.includes(approval) ? plain : `${plain}: approval ${approval}`;
  const until = textOf(wait, 'until');
  const ended = until === '' || reason.includes(until) ? reason : `${reason} (until ${until})`;
  return isObject(wait.child) ? `${ended}: ${sentence(wait.child)}` : ended;
}

/** The failure of a command whose run did not succeed: code and cause. */
export function endedBadly(outcome: string, why: readonly string[]): CliFailure {
  const how = outcome === 'cancelled' ? 'was cancelled' : `ended as ${outcome}`;
  return new CliFailure(EXIT.internal, [`the execution ${how}`, ...why.filter((text) => text !== '')].join(': '));
}
