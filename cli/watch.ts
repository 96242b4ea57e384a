import type { CliContext } from './context.ts';
import { describeEvent, EventLines } from './event-lines.ts';
import { CliFailure, EXIT } from './failure.ts';
import { type ExecutionEvent, followExecution, isLastEvent } from './follow.ts';
import { isObject, type JsonObject, numberOf, textOf } from './json.ts';
import { paintFor } from './paint.ts';

interface WatchOptions {
  /** Goes on behind this event. */
  readonly after: number;
  /** `events`: each event to standard output; `result`: the final output there, progress to standard error. */
  readonly show: 'events' | 'result' | 'both';
}

/**
 * Follows an execution to its end and shows it. Throws `CliFailure` when it ended failed or cancelled. Ctrl-C stops
 * the following only, and says how to go on.
 */
export async function watchExecution(context: CliContext, executionId: string, options: WatchOptions): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  const screen = screenFor(context, options.show);
  let last = options.after;
  let lastEvent: ExecutionEvent | undefined;
  try {
    const follow = {
      after: options.after,
      signal: stop.signal,
      onCut: (why: string) => screen.note(`${why}; coming back`),
    };
    for await (const event of followExecution(context.client, executionId, follow)) {
      last = event.id;
      screen.add(event);
      if (isLastEvent(event)) lastEvent = event;
    }
  } finally {
    process.removeListener('SIGINT', interrupt);
    screen.end();
  }
  if (stop.signal.aborted) throw interrupted(context, executionId, last);
  await finish(context, executionId, lastEvent, options.show);
}

interface Screen {
  add(event: ExecutionEvent): void;
  note(line: string): void;
  end(): void;
}

function screenFor({ output }: CliContext, show: WatchOptions['show']): Screen {
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  if (show === 'result') return new Progress();
  const stream = show === 'events' ? process.stdout : process.stderr;
  const write = (line: string): void => void stream.write(`${line}\n`);
  // For machines one event a line, as it came.
  if (output === 'json' || output === 'yaml')
    return { add: ({ data }) => write(output === 'json' ? data : `- ${data}`), note, end: () => undefined };
  const wrapAt = stream.isTTY ? Math.max(40, (stream.columns ?? 100) - 4) : 0;
  const lines = new EventLines({ write, wrapAt, paint: paintFor(stream, process.env) });
  return { add: (event) => lines.add(event), note, end: () => undefined };
}

async function finish(
  context: CliContext,
  executionId: string,
  lastEvent: ExecutionEvent | undefined,
  show: WatchOptions['show'],
): Promise<void> {
  const path = `/v1/executions/${encodeURIComponent(executionId)}`;
  // Without a last event all had been seen before: how it ended is in its state.
  const status =
    lastEvent === undefined || show !== 'events' ? await context.client.json('GET', path, { repeatable: true }) : null;
  if (show !== 'events' && status !== null) {
    const { print } = await import('./output.ts');
    await print(context.output, { value: status, text: textOf(status, 'last_output') });
  }
  const ended =
    status === null ? (lastEvent?.name === 'execution_completed' ? 'completed' : 'failed') : textOf(status, 'status');
  if (ended === 'completed') return;
  const reason = textOf(lastEvent?.payload, 'reason') || textOf(status, 'last_error');
  throw new CliFailure(EXIT.internal, `the execution ended ${ended}${reason === '' ? '' : `: ${reason}`}`);
}

function interrupted({ again }: CliContext, executionId: string, last: number): CliFailure {
  return new CliFailure(EXIT.interrupted, `stopped following; execution ${executionId} goes on`, [
    `to go on:   ${again} task logs ${executionId} --follow${last > 0 ? ` --after ${last}` : ''}`,
    `to end it:  ${again} task cancel ${executionId}`,
  ]);
}

const TICK_MS = 200;

const CLEAR_LINE = '\r\u001b[2K';

/** Says on standard error that something happens: one line rewritten on a terminal, else plain lines. */
class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  #doing = 'waiting';
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
    if (stream.isTTY) this.#timer = setInterval(() => this.#redraw(), TICK_MS).unref();
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

  /** A line that stays. */
  note(line: string): void {
    if (this.#timer === undefined) this.#stream.write(`${line}\n`);
    else this.#stream.write(`${CLEAR_LINE}${line}\n`);
  }

  /** Takes the rewritten line away. */
  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stream.write(CLEAR_LINE);
  }

  #redraw(): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    const output = this.#chars === 0 ? '' : ` · ${this.#chars} characters`;
    this.#stream.write(`${CLEAR_LINE}${this.#doing} · ${seconds} s${output}`);
  }
}

/**
 * An execution for people: what it waits for as a sentence, such as "waiting for a node with tags gpu", or "waiting for
 * an agent: iteration 1 waits for its model, attempt 1 on node n1 (until 2026-01-01T00:00:00.000Z)".
 */
export function waitingInWords(execution: JsonObject): JsonObject {
  const { waiting_for } = execution;
  return isObject(waiting_for) ? { ...execution, waiting_for: sentence(waiting_for) } : execution;
}

function sentence(wait: JsonObject): string {
  const reason = textOf(wait, 'reason');
  const until = textOf(wait, 'until');
  const ended = until === '' || reason.includes(until) ? reason : `${reason} (until ${until})`;
  return isObject(wait.child) ? `${ended}: ${sentence(wait.child)}` : ended;
}
