import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { type CliContext, contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { followEvents } from '../follow.ts';
import { textOf } from '../json.ts';
import { isLastWorkflowEvent } from '../live-view-model.ts';
import { runPath, watchWorkflow } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { readInput, readObject } from '../read-input.ts';
import { watchExecution } from '../watch.ts';

interface ExecuteOptions {
  readonly inputs?: string;
  readonly language?: string;
  readonly volume?: string;
  readonly timeoutSeconds?: string;
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc execute GOAL`: a program reaches it; `svc execute status ID` shows how it stands. */
export function execute(program: Command): void {
  const group = program.command('execute').description('reach a goal by a program that an agent writes: run, status');
  group
    .command('run', { isDefault: true })
    .description('start it, also without the word run')
    .argument('<goal>', 'in plain words; @FILE reads a file, - standard input')
    .option('--inputs <json>', 'what the program reads, a JSON object; @FILE, -')
    .option('--language <language>', 'python, javascript or bash; default python')
    .option('--volume <id>', 'a persistent volume, read-only below /workspace')
    .option('--timeout-seconds <seconds>', 'of the program; at most what your tier allows')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'wait for the end and print the answer')
    .action(async (goal: string, options: ExecuteOptions, command: Command) => {
      const context = contextOf(command);
      const json = { intent: await readInput(goal, 'goal'), ...(await bodyOf(options)) };
      const answer = await context.client.json('POST', '/v1/execute/intent', {
        json,
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      const id = textOf(answer, 'pipeline_execution_id');
      if (options.follow) return watchWorkflow(context, id, { after: 0, show: 'events', states: [] });
      if (!options.wait) return print(context.output, { value: answer, text: id });
      process.stderr.write(`pipeline execution ${id}\n`);
      return showAnswer(context, id);
    });
  group
    .command('status')
    .description('show how it stands, and the answer when there is one')
    .argument('<id>', 'pipeline execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(command);
      return print(context.output, { value: await standing(context, id) });
    });
}

async function bodyOf({ inputs, language, volume, timeoutSeconds }: ExecuteOptions) {
  if (timeoutSeconds !== undefined && !/^[1-9]\d{0,8}$/.test(timeoutSeconds))
    throw invalid(`--timeout-seconds: expected a whole number of seconds, got ${timeoutSeconds}`);
  return {
    ...(inputs === undefined ? {} : { inputs: await readObject(inputs, '--inputs') }),
    ...(language === undefined ? {} : { language }),
    ...(volume === undefined ? {} : { volume_id: volume }),
    ...(timeoutSeconds === undefined ? {} : { timeout_seconds: Number(timeoutSeconds) }),
  };
}

const standing = ({ client }: CliContext, id: string) =>
  client.json('GET', `/v1/execute/${encodeURIComponent(id)}`, { repeatable: true });

/** Waits for the end of the run; what it answered goes to standard output, why it failed is the failure. */
async function showAnswer(context: CliContext, id: string): Promise<void> {
  const stop = new AbortController();
  const note = (why: string): void => void process.stderr.write(`${why}; coming back\n`);
  const source = { path: `${runPath(id)}/stream`, isLast: isLastWorkflowEvent };
  const events = followEvents(context.client, source, { after: 0, signal: stop.signal, onCut: note });
  let ended = await events.next();
  while (ended.done !== true) ended = await events.next();
  const answer = await standing(context, id);
  if (textOf(answer, 'status') === 'failed') {
    // It may have failed before its first state.
    const told = [textOf(answer, 'failed_at_state'), textOf(answer, 'reason')].filter((part) => part !== '');
    throw new CliFailure(EXIT.internal, told.join(': '));
  }
  return print(context.output, { value: answer, text: textOf(answer, 'final_result') });
}

interface GenerateOptions {
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc agent generate` and `svc workflow generate`: an agent writes what the description says, and deploys it. */
const generate = (kind: 'agent' | 'workflow') => (group: Command) => {
  group
    .command('generate')
    .description(`have ${kind === 'agent' ? 'an agent' : 'a workflow'} written from plain words, and deployed`)
    .argument('<description>', 'what it should do; @FILE reads a file, - standard input')
    .option('--follow', 'show the events of the author as they come')
    .option('--wait', 'wait for the end and print what was deployed')
    .action(async (description: string, options: GenerateOptions, command: Command) => {
      const context = contextOf(command);
      const answer = await context.client.json('POST', `/v1/${kind}s/generate`, {
        json: { input: await readInput(description, 'description') },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      const executionId = textOf(answer, 'execution_id');
      if (!options.follow && !options.wait) return print(context.output, { value: answer, text: executionId });
      const show = options.follow ? (options.wait ? 'both' : 'events') : 'result';
      if (show === 'result') process.stderr.write(`execution ${executionId}\n`);
      return watchExecution(context, executionId, { after: 0, show });
    });
};

export const agentGenerate = generate('agent');

export const workflowGenerate = generate('workflow');
