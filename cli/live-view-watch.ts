import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import type { CliContext } from './context.ts';
import { CliFailure, EXIT } from './failure.ts';
import { type ExecutionEvent, followEvents } from './follow.ts';
import { isObject, listOf, textOf } from './json.ts';
import { LiveView, workflowEventLine } from './live-view.ts';
import { isLastWorkflowEvent } from './live-view-model.ts';
import type { NodeClient } from './node-client.ts';
import { print } from './output.ts';
import { paintFor, printable } from './paint.ts';
import { readInput, readObject, workflowPath } from './read-input.ts';

const WAIT_REASON_MS = 1_000;

interface WatchWorkflow {
  /** Goes on behind this event. */
  readonly after: number;
  /** `events`: each event to standard output; `result`: states on standard error, the final output there. */
  readonly show: 'events' | 'result';
  /** Names in the order of the manifest. */
  readonly states: readonly string[];
}

export const runPath = (executionId: string): string => `/v1/workflows/executions/${encodeURIComponent(executionId)}`;

/**
 * Follows a workflow execution to its end and shows it. Throws `CliFailure` when it ended failed or cancelled. Ctrl-C
 * stops the following only, and says how to go on.
 */
export async function watchWorkflow(context: CliContext, executionId: string, options: WatchWorkflow): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  const screen =
    options.show === 'events' ? eventScreen(context) : stateScreen(context, executionId, options.states, stop);
  let last = options.after;
  try {
    const source = { path: `${runPath(executionId)}/stream`, isLast: isLastWorkflowEvent };
    const follow = {
      after: options.after,
      signal: stop.signal,
      onCut: (why: string) => screen.note(`${why}; coming back`),
    };
    for await (const event of followEvents(context.client, source, follow)) {
      last = event.id;
      screen.add(event);
    }
  } finally {
    process.removeListener('SIGINT', interrupt);
    screen.end();
  }
  if (stop.signal.aborted) throw interrupted(context, executionId, last);
  const run = await context.client.json('GET', runPath(executionId), { repeatable: true });
  if (options.show === 'result') await print(context.output, { value: run, text: outputText(run.output) });
  const status = textOf(run, 'status');
  if (status === 'completed') return;
  const why = [textOf(run, 'reason'), textOf(run, 'error')].filter((text) => text !== '');
  throw new CliFailure(EXIT.internal, [`the execution ended ${status}`, ...why].join(': '));
}

interface Screen {
  add(event: ExecutionEvent): void;
  note(line: string): void;
  end(): void;
}

function eventScreen({ output }: CliContext): Screen {
  const paint = paintFor(process.stdout, process.env);
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  return {
    add(event) {
      // For machines one event a line, as it came.
      const isForMachines = output === 'json' || output === 'yaml';
      const line = isForMachines ? event.data : workflowEventLine(event, paint);
      if (line !== null) write(output === 'yaml' ? `- ${line}` : line);
    },
    note: (line) => void process.stderr.write(`${line}\n`),
    end: () => undefined,
  };
}

/** States on standard error; what it waits for is asked now and then, and a person at the terminal is asked to approve. */
function stateScreen(
  { client }: CliContext,
  executionId: string,
  states: readonly string[],
  stop: AbortController,
): Screen {
  const view = new LiveView(states);
  const ended = new AbortController();
  let question = new AbortController();
  const tick = !view.isLive
    ? undefined
    : setInterval(() => {
        const asked = client.json('GET', runPath(executionId), { signal: ended.signal });
        // A node that does not answer now will be heard of through the stream.
        asked.then((run) => view.wait(textOf(run.waiting_for, 'reason'))).catch(() => undefined);
      }, WAIT_REASON_MS);
  const ask = async (prompt: string): Promise<void> => {
    question = new AbortController();
    view.pause();
    const answer = await askPerson(prompt, question.signal, stop);
    view.resume();
    if (answer !== null && answer !== '')
      await client.json('POST', `${runPath(executionId)}/signal`, { json: { response: answer } });
  };
  return {
    add(event) {
      if (event.name === 'WorkflowHumanInputReceived' || isLastWorkflowEvent(event)) question.abort();
      view.add(event);
      if (event.name === 'WorkflowHumanInputRequested' && view.isLive && process.stdin.isTTY)
        ask(textOf(event.payload, 'prompt')).catch((thrown: unknown) =>
          view.note(thrown instanceof Error ? thrown.message : 'the answer was not taken'),
        );
    },
    note: (line) => view.note(line),
    end() {
      clearInterval(tick);
      ended.abort();
      question.abort();
      view.end();
    },
  };
}

/** Null when somebody else answered meanwhile. An empty answer leaves it to others. */
async function askPerson(prompt: string, signal: AbortSignal, stop: AbortController): Promise<string | null> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => stop.abort());
  try {
    const until = AbortSignal.any([signal, stop.signal]);
    return (await terminal.question(`${printable(prompt)} [yes/no, Enter: later] `, { signal: until })).trim();
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'AbortError') return null;
    throw thrown;
  } finally {
    terminal.close();
  }
}

/** The final output as a person or a pipe wants it: text as it is, else JSON. */
function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  return output === null || output === undefined ? '' : JSON.stringify(output, null, 2);
}

function interrupted({ again }: CliContext, executionId: string, last: number): CliFailure {
  return new CliFailure(EXIT.interrupted, `stopped following; workflow execution ${executionId} goes on`, [
    `to go on:   ${again} workflow logs ${executionId} --follow${last > 0 ? ` --after ${last}` : ''}`,
    `to end it:  ${again} workflow cancel ${executionId}`,
  ]);
}

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
