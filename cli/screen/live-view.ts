import type { ExecutionEvent } from '../follow.ts';
import { numberOf, textOf } from '../json.ts';
import { counted } from '../output.ts';
import { LiveViewModel, type Mark, outputInOneLine, type StateLine } from './live-view-model.ts';
import { type Paint, paintFor, plain, printable } from './paint.ts';
import { cutTo, padded, widthOf } from './width.ts';

const TICK_MS = 250;

const MARKS: Readonly<Record<Mark, string>> = {
  pending: '·',
  running: '▶',
  waiting: '⏸',
  done: '✔',
  failed: '✖',
  skipped: '-',
};

const COLOURS: Readonly<Record<Mark, keyof Paint>> = {
  pending: 'dim',
  running: 'cyan',
  waiting: 'yellow',
  done: 'green',
  failed: 'red',
  skipped: 'dim',
};

/** Moves to the first column, `lines` lines up, and clears the screen below. */
const back = (lines: number): string => `\r${lines === 0 ? '' : `\u001b[${lines}A`}\u001b[0J`;

/** The states of a run: redrawn in place on a terminal, elsewhere one plain line for each event. */
export class LiveView {
  readonly #stream = process.stderr;
  readonly #paint: Paint;
  readonly #model: LiveViewModel;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;
  #paused = false;

  constructor(states: readonly string[]) {
    this.#paint = paintFor(this.#stream, process.env);
    this.#model = new LiveViewModel(states);
    if (this.#stream.isTTY && process.env.TERM !== 'dumb') {
      this.#timer = setInterval(() => this.#redraw(), TICK_MS);
      this.#timer.unref();
    }
  }

  get isLive(): boolean {
    return this.#timer !== undefined;
  }

  add(event: ExecutionEvent): void {
    this.#model.add(event);
    if (this.isLive) this.#redraw();
    else {
      const line = workflowEventLine(event, this.#paint);
      if (line !== null) this.#stream.write(`${line}\n`);
    }
  }

  wait(reason: string): void {
    this.#model.wait(reason);
  }

  /** A line that is not redrawn. */
  note(line: string): void {
    this.#clear();
    this.#stream.write(`${line}\n`);
    this.#redraw();
  }

  /** Stops redrawing while a question is asked below the states. */
  pause(): void {
    this.#redraw();
    this.#paused = true;
    this.#drawn = 0;
  }

  resume(): void {
    this.#paused = false;
    this.#redraw();
  }

  /** Keeps the last drawing. */
  end(): void {
    if (this.#timer === undefined) return;
    this.#paused = false;
    this.#redraw();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #clear(): void {
    if (this.#timer === undefined || this.#paused) return;
    this.#stream.write(back(this.#drawn));
    this.#drawn = 0;
  }

  #redraw(): void {
    if (this.#timer === undefined || this.#paused) return;
    const lines = drawing(this.#model.lines, {
      paint: this.#paint,
      width: this.#stream.columns || 80,
      // Lines that scrolled out cannot be redrawn. Some terminals report 0 rows.
      height: Math.max(3, (this.#stream.rows || 24) - 2),
      now: Date.now(),
    });
    this.#stream.write(`${back(this.#drawn)}${lines.map((line) => `${line}\n`).join('')}`);
    this.#drawn = lines.length;
  }
}

/** The states as lines that fit the terminal; when there are too many the least relevant ones are only counted. */
export function drawing(
  states: readonly StateLine[],
  { paint, width, height, now }: { paint: Paint; width: number; height: number; now: number },
): string[] {
  const shown = states.length <= height ? states : mostRelevant(states, height - 1);
  const nameWidth = Math.min(32, Math.max(...shown.map(({ name }) => widthOf(name))));
  const lines = shown.map((state) => stateLine(state, { paint, width, nameWidth, now }));
  const hidden = states.length - shown.length;
  return hidden === 0 ? lines : [...lines, paint.dim(`  … and ${counted(hidden, 'more state')}`)];
}

function mostRelevant(states: readonly StateLine[], count: number): readonly StateLine[] {
  const live = states.filter(({ mark }) => mark !== 'pending' && mark !== 'skipped');
  const kept = new Set([...live.slice(-count), ...states.filter(({ mark }) => mark === 'pending')].slice(0, count));
  return states.filter((state) => kept.has(state));
}

function stateLine(
  { name, mark, visits, startedAt, endedAt, note }: StateLine,
  { paint, width, nameWidth, now }: { paint: Paint; width: number; nameWidth: number; now: number },
): string {
  const seconds = startedAt === null ? '' : `${(((endedAt ?? now) - startedAt) / 1_000).toFixed(1)} s`;
  const times = visits > 1 ? ` ×${visits}` : '';
  const title = padded(cutTo(name, nameWidth), nameWidth);
  const head = `${MARKS[mark]} ${title} ${mark.padEnd(7)} ${seconds.padStart(8)}${times}`;
  // Some terminals draw the marks two columns wide.
  const room = width - widthOf(head) - 3;
  const tail = note === '' || room < 8 ? '' : `  ${cutTo(printable(note), room)}`;
  return `${paint[COLOURS[mark]](head)}${paint.dim(tail)}`.trimEnd();
}

/** An event of a workflow as one line for people; null for events that are not shown. */
export function workflowEventLine({ name, payload }: ExecutionEvent, paint: Paint = plain): string | null {
  const state = printable(textOf(payload, 'state_name') || textOf(payload, 'parent_state_name'));
  const field = (key: string): string => printable(textOf(payload, key));
  switch (name) {
    case 'WorkflowExecutionStarted':
      return `execution ${field('execution_id')} of ${field('workflow_name')} ${field('workflow_version')} started`;
    case 'WorkflowStateEntered':
      return `${state}: entered (${field('kind')})`;
    case 'WorkflowStateExited':
      return exitLine(state, payload, paint);
    case 'WorkflowHumanInputRequested':
      return paint.yellow(`${state}: waits for approval ${field('approval_id')}: ${field('prompt')}`);
    case 'WorkflowHumanInputReceived':
      return `${state}: ${field('how')}: ${field('payload')}`;
    case 'WorkflowTemplateFailed':
      return paint.yellow(`${state}: ${field('what')} not rendered: ${field('error')}`);
    case 'WorkflowStepRepeated':
      return paint.yellow(`${state}: started again; it is unknown whether the earlier attempt acted`);
    case 'ContainerRunStarted':
      return `${state}: container of ${field('image')} started`;
    case 'ContainerRunCompleted':
      return `${state}: container ended with exit code ${field('exit_code')}`;
    case 'ParallelContainerRunAggregated':
      return `${state}: ${field('succeeded')} of ${counted(numberOf(payload, 'total_steps'), 'container')} succeeded`;
    case 'ContainerRunFailed':
      return paint.yellow(`${state}: container failed: ${field('reason')}`);
    case 'SubworkflowTriggered':
      return `${state}: child execution ${field('child_execution_id')} (${field('mode')})`;
    case 'SubworkflowCompleted':
      return `${state}: child completed`;
    case 'SubworkflowFailed':
      return paint.yellow(`${state}: child failed: ${field('reason')}`);
    // Other events of the run have the same content.
    case 'IntentExecutionPipelineStarted':
    case 'IntentExecutionPipelineCompleted':
    case 'IntentExecutionPipelineFailed':
      return null;
    case 'WorkflowExecutionCompleted':
      return paint.green('completed');
    case 'WorkflowExecutionFailed':
      return paint.red(`failed: ${field('error') || field('reason')}`);
    case 'WorkflowExecutionCancelled':
      return paint.red(`cancelled${field('reason') === '' ? '' : `: ${field('reason')}`}`);
    default:
      return state === '' ? name : `${state}: ${name}`;
  }
}

function exitLine(state: string, payload: ExecutionEvent['payload'], paint: Paint): string {
  const status = textOf(payload, 'status');
  const next = textOf(payload, 'next_state');
  const output = printable(outputInOneLine(payload.output));
  const words = `${state}: ${status}${next === '' ? '' : ` → ${next}`}${output === '' ? '' : paint.dim(`  ${output}`)}`;
  return status === 'failed' ? paint.red(words) : words;
}
