import { createInterface } from 'node:readline/promises';
import type { CliContext } from './context.ts';
import { isObject, textOf } from './json.ts';
import { named, workflowPath } from './names.ts';
import { type NodeClient, startOnce } from './node-client.ts';
import { isForMachines, print } from './output.ts';
import { labelsOf, readInput, readObject } from './read-input.ts';
import { LiveView, workflowEventLine } from './screen/live-view.ts';
import { isLastWorkflowEvent } from './screen/live-view-model.ts';
import { paintFor, printable } from './screen/paint.ts';
import { endedBadly, interrupted, type Screen, showEvents, waitInWords } from './watch-execution.ts';

const WAIT_REASON_MS = 1_000;

interface WatchWorkflow {
  /** Resumes after this event. */
  readonly after: number;
  /** `events`: events to standard output; `result`: the final output there, states to standard error. */
  readonly show: 'events' | 'result';
  /** Names in the order of the manifest. */
  readonly states: readonly string[];
}

export const runPath = (executionId: string): string => `/v1/workflows/executions/${encodeURIComponent(executionId)}`;

/**
 * Follows a workflow execution to its end and shows it. Throws `CliFailure` when it failed or was cancelled. Ctrl-C stops
 * following, not the execution, and tells how to resume.
 */
export async function watchWorkflow(context: CliContext, id: string, options: WatchWorkflow): Promise<void> {
  const { after, show, states } = options;
  const stop = new AbortController();
  const screen = show === 'events' ? eventScreen(context) : stateScreen(context, id, states, stop);
  const source = { path: `${runPath(id)}/stream`, isLast: isLastWorkflowEvent };
  const { last } = await showEvents(context.client, source, after, screen, stop);
  if (stop.signal.aborted) throw interrupted(context, `workflow execution ${id}`, 'workflow', id, last);
  const run = await context.client.json('GET', runPath(id), { repeatable: true });
  if (show === 'result') await print(context.output, { value: run, text: outputText(run.output) });
  const status = textOf(run, 'status');
  const outcome = textOf(run, 'outcome');
  if (outcome === 'succeeded') return;
  const [code, message] = [textOf(run.error, 'code'), textOf(run.error, 'message')];
  const why = [status === 'cancelled' ? textOf(run, 'reason') : code, status === 'cancelled' ? '' : message];
  throw endedBadly(outcome, why);
}

function eventScreen({ output }: CliContext): Screen {
  const paint = paintFor(process.stdout, process.env);
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  return {
    add(event) {
      // One event a line, unchanged, for machines.
      const line = isForMachines(output) ? event.data : workflowEventLine(event, paint);
      if (line !== null) write(output === 'yaml' ? `- ${line}` : line);
    },
    note: (line) => void process.stderr.write(`${line}\n`),
    end: () => undefined,
  };
}

/** States on standard error. The wait reason is polled, and a user at the terminal is asked to answer approvals. */
function stateScreen(
  { client, again }: CliContext,
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
        // The stream reports a node that does not answer.
        asked.then(({ waiting_for }) => view.wait(waitInWords(waiting_for))).catch(() => undefined);
      }, WAIT_REASON_MS);
  const ask = async (prompt: string): Promise<void> => {
    question = new AbortController();
    view.pause();
    const answer = await askUser(prompt, question.signal, stop);
    view.resume();
    if (answer !== null && answer !== '')
      await client.json('POST', `${runPath(executionId)}/signal`, { json: { response: answer } });
  };
  return {
    add(event) {
      if (event.name === 'WorkflowHumanInputReceived' || isLastWorkflowEvent(event)) question.abort();
      view.add(event);
      if (event.name !== 'WorkflowHumanInputRequested') return;
      if (!view.isLive || !process.stdin.isTTY)
        view.note(`  answer it: ${again} approval approve ${textOf(event.payload, 'approval_id')}`);
      else
        ask(textOf(event.payload, 'prompt')).catch((thrown: unknown) =>
          view.note(thrown instanceof Error ? thrown.message : 'the answer was not sent'),
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

/** Null when another user answered first. An empty answer leaves the approval pending. */
async function askUser(prompt: string, signal: AbortSignal, stop: AbortController): Promise<string | null> {
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

/** The final output: text unchanged, everything else as JSON. */
function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  return output === null || output === undefined ? '' : JSON.stringify(output, null, 2);
}

/** Options of a run on the command line. */
export interface RunOptions {
  readonly input?: string;
  readonly intent?: string;
  readonly blackboard?: string;
  readonly version?: string;
  readonly label?: readonly string[];
}

/** Starts a run of the workflow and returns its execution id. */
export async function startRun(client: NodeClient, nameOrId: string, options: RunOptions): Promise<string> {
  const { input, intent, blackboard, version, label = [] } = options;
  const json = {
    input: input === undefined ? undefined : await readObject(input, '--input'),
    intent: intent === undefined ? undefined : await readInput(intent, '--intent'),
    blackboard: blackboard === undefined ? undefined : await readObject(blackboard, '--blackboard'),
    version,
    labels: labelsOf(label),
  };
  const path = `${await workflowPath(client, nameOrId)}/run`;
  const answer = await named(client, 'workflow', nameOrId, () => client.json('POST', path, startOnce(json)));
  return textOf(answer, 'execution_id');
}

/** Names of the states of a workflow, in the order of its manifest. */
export async function statesOf(client: NodeClient, nameOrId: string, version?: string): Promise<readonly string[]> {
  const path = await workflowPath(client, nameOrId);
  const { manifest } = await client.json('GET', path, { query: { version }, repeatable: true });
  const spec = isObject(manifest) ? manifest.spec : undefined;
  const states = isObject(spec) ? spec.states : undefined;
  return isObject(states) ? Object.keys(states) : [];
}
