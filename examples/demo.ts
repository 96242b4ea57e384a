/**
 * `npm run demo`: a node, three agents and a workflow, followed live. One agent is a program, one talks to a model, one calls
 * tools with an audit record; the workflow waits for a person. `-- PATH` selects another directory, `-- --once` ends after the
 * runs.
 */
import { relative, resolve } from 'node:path';
import { isObject, numberOf, textOf } from '../cli/json.ts';
import { NodeClient } from '../cli/node-client.ts';
import { type Paint, paintFor } from '../cli/screen/paint.ts';
import type { Node } from '../main.ts';
import { startDemoNode } from './demo/demo-node.ts';
import { chooseModel, scriptedNotes } from './demo/model-choice.ts';
import { nextSteps } from './demo/next-steps.ts';
import { type DemoOptions, demoOptions } from './demo/options.ts';
import { repositoryText } from './demo/repository-text.ts';
import { type Review, signOff, startReview } from './demo/review.ts';
import { type DemoRun, deploy, runAgent } from './demo/run-agent.ts';
import { toolCallLines } from './demo/tool-calls.ts';

const EXAMPLES = import.meta.dirname;
const REPOSITORY = resolve(EXAMPLES, '..');
const say = (line = ''): void => console.log(line);

async function demo(options: DemoOptions, paint: Paint): Promise<boolean> {
  const startedAt = performance.now();
  const model = await chooseModel(process.env, resolve(EXAMPLES, 'agents/repo-summary.script.yaml'));
  const providers = [model.provider, scriptedNotes(resolve(EXAMPLES, 'agents/repo-notes.script.yaml'))];
  const node = await startDemoNode(options.dataDir, { checkout: REPOSITORY, looksAt: options.directory }, providers);
  const stop = new AbortController();
  const ended = endWith(node, stop);
  say(
    `${paint.bold('svc demo')}  node up in ${Math.round(performance.now() - startedAt)} ms, data in ${relative('.', options.dataDir)}`,
  );
  say(`dashboard  ${paint.bold(node.restUrl)}  (open it in a browser)`);
  say(`REST   ${node.restUrl}  (to read: ${node.restUrl}/docs)`);
  say(`gRPC   ${node.grpcAddress}`);
  say(`model  ${paint.yellow(model.says)}`);
  say();
  const runs = await runAll(node, options, paint, stop.signal).catch(async (error: unknown) => {
    stop.abort();
    await ended;
    throw error;
  });
  if (!stop.signal.aborted) {
    for (const run of runs) showResult(run, paint);
    await showCalls(node, runs, paint);
    const review = await showReview(node, options, paint);
    say(paint.bold(options.once ? 'To try while a demo runs:' : 'To try next, in another terminal:'));
    for (const command of nextSteps(node, { runs, review, directory: options.directory })) say(`  ${command}`);
    say();
    if (options.once) stop.abort();
    else say('The node stays up. Ctrl-C ends it; what it knows stays on disk.');
  }
  await ended;
  return runs.every(({ status }) => textOf(status, 'status') === 'completed');
}

async function runAll(node: Node, options: DemoOptions, paint: Paint, signal: AbortSignal): Promise<DemoRun[]> {
  const client = new NodeClient({ url: node.restUrl });
  const report = { name: 'repo-report', manifest: `${EXAMPLES}/agents/repo-report.yaml`, colour: paint.cyan };
  const summary = { name: 'repo-summary', manifest: `${EXAMPLES}/agents/repo-summary.yaml`, colour: paint.magenta };
  const notes = { name: 'repo-notes', manifest: `${EXAMPLES}/agents/repo-notes.yaml`, colour: paint.yellow };
  const view = { paint, signal };
  const [reportId, summaryId, notesId] = await Promise.all([
    deploy(client, report),
    deploy(client, summary),
    deploy(client, notes),
  ]);
  say(`deployed repo-report (a program) and repo-summary (a model); both look at ${options.directory}`);
  say('deployed repo-notes (tools): what it asks for comes from examples/agents/repo-notes.script.yaml');
  say();
  return Promise.all([
    runAgent(client, report, { agentId: reportId, input: options.directory }, view),
    runAgent(client, summary, { agentId: summaryId, input: await repositoryText(options.directory) }, view),
    runAgent(client, notes, { agentId: notesId, input: '' }, view),
  ]);
}

function showResult({ agent, status, executionId }: DemoRun, paint: Paint): void {
  const ended = textOf(status, 'status');
  say();
  say(agent.colour(`── ${agent.name}: ${ended} ${'─'.repeat(Math.max(0, 60 - agent.name.length - ended.length))}`));
  say((textOf(status, 'last_output') || textOf(status, 'last_error')).trimEnd());
  say();
  say(paint.dim([`execution ${executionId}`, usageOf(status)].filter((part) => part !== '').join(' · ')));
  say();
}

async function showCalls(node: Node, [, , notes]: readonly DemoRun[], paint: Paint): Promise<void> {
  if (notes === undefined) return;
  say(paint.bold('What repo-notes did with tools:'));
  for (const line of await toolCallLines(new NodeClient({ url: node.restUrl }), notes.executionId, paint))
    say(`  ${line}`);
  say();
}

/** With --once the demo answers the approval itself, so that the run ends. */
async function showReview(node: Node, { directory, once }: DemoOptions, paint: Paint): Promise<Review> {
  const client = new NodeClient({ url: node.restUrl });
  const input = { directory, text: await repositoryText(directory) };
  const review = await startReview(client, `${EXAMPLES}/agents`, input);
  say(paint.bold('The workflow repo-review counted, summarised, and asks a person:'));
  say(`  ${review.why}`);
  if (once) say(`  signed off by the demo: ${textOf(await signOff(client, review), 'status')}`);
  say();
  return review;
}

function usageOf({ usage }: DemoRun['status']): string {
  if (!isObject(usage) || numberOf(usage, 'input_tokens') === 0) return '';
  return `${numberOf(usage, 'input_tokens')} tokens in, ${numberOf(usage, 'output_tokens')} out`;
}

/** Resolves when the node has stopped: after a signal, or when `stop` resolves. */
function endWith(node: Node, stop: AbortController): Promise<void> {
  const interrupt = (): void => {
    // A second signal stops at once.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return new Promise((resolve, reject) => {
    stop.signal.addEventListener('abort', () => node.stop().then(resolve, reject), { once: true });
  });
}

try {
  const options = await demoOptions(process.argv.slice(2), REPOSITORY);
  if (options !== 'help') process.exitCode = (await demo(options, paintFor(process.stdout, process.env))) ? 0 : 1;
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
