import assert from 'node:assert/strict';
import { stringify } from 'yaml';
import { z } from 'zod';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENTS } from './agents.ts';
import { type Ended, interpret } from './interpreter.ts';
import { type Case, isList, isMap, type Json, type JsonMap, OPEN, type Reply, type Workflow } from './manifest.ts';

/** Members that the product adds to those of the document, where the document allows it. */
const ADDED = ['duration_ms', 'error', 'execution_id', 'metadata', 'stdout_truncated', 'stderr_truncated'];
/** Output of an Agent state that failed: the document defines only its success. */
const OF_A_FAILURE = ['output', 'score', 'confidence', 'iterations', 'result', 'child_execution_id', 'feedback'];
/** Members of a judge's answer that its verdict may keep. */
const OF_A_JUDGE = ['suggestions', 'verdict'];
const NEAR = 1e-9;

/** The differences, one line each; empty when they are equal. */
function differences(expected: Ended, actual: Ended): string[] {
  const { code, ...rest } = expected;
  const said: Json = { ...rest, ...(code === OPEN ? {} : { code }) };
  const { code: actualCode, ...actualRest } = actual;
  return unlike(said, { ...actualRest, ...(code === OPEN ? {} : { code: actualCode }) }, '');
}

function unlike(expected: Json, actual: Json | undefined, at: string): string[] {
  if (expected === OPEN && actual !== undefined) return [];
  if (typeof expected === 'number' && typeof actual === 'number' && Math.abs(expected - actual) < NEAR) return [];
  if (isMap(expected) && isMap(actual)) return unlikeMaps(expected, actual, at);
  if (isList(expected) && isList(actual) && expected.length === actual.length) {
    return expected.flatMap((item, index) => unlike(item, actual[index], `${at}[${index}]`));
  }
  if (JSON.stringify(expected) === JSON.stringify(actual)) return [];
  return [`${at}: expected ${shown(expected)}, got ${shown(actual)}`];
}

function unlikeMaps(expected: JsonMap, actual: JsonMap, at: string): string[] {
  const keys = Object.keys(actual).filter((key) => !Object.hasOwn(expected, key) && !isAdded(key, expected, at));
  const more = keys.map((key) => `${at}.${key}: not expected, got ${shown(actual[key])}`);
  return [...Object.entries(expected).flatMap(([key, value]) => unlike(value, actual[key], `${at}.${key}`)), ...more];
}

function isAdded(key: string, beside: JsonMap, at: string): boolean {
  if (at === '.blackboard') return false;
  if (beside.status === 'failed' && OF_A_FAILURE.includes(key)) return true;
  return ADDED.includes(key) || (at.includes('individual_results') && OF_A_JUDGE.includes(key));
}

const shown = (value: Json | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** One request to a node; answers the body as JSON and throws unless it is 200. */
export type Send = (method: string, path: string, body?: JsonMap | string) => Promise<unknown>;

const AnyJson: z.ZodType<Json> = z.json();

const Run = z.object({
  status: z.string(),
  outcome: z.string().nullable(),
  current_state: z.string().nullable(),
  error: z.object({ code: z.string() }).nullable().optional(),
  waiting_for: z.looseObject({ approval_id: z.string().optional() }).nullable().optional(),
  output: AnyJson.optional(),
  blackboard: z.record(z.string(), AnyJson),
});

const Logs = z.object({
  events: z.array(z.object({ event_type: z.string(), state_name: z.string().nullable() })),
  total: z.number(),
});

const Started = z.object({ execution_id: z.string() });

const LOG_PAGE = 200;
const PATIENCE_MS = 120_000;

function manifestOf({ name, context, shared, states }: Workflow): string {
  const shared_volumes = shared.map((volume) => ({ name: volume, storage_class: 'ephemeral', ttl_hours: 1 }));
  return stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: {
      initial_state: Object.keys(states)[0],
      context,
      ...(shared.length === 0 ? {} : { storage: { shared_volumes } }),
      states,
    },
  });
}

/** The agents that random workflows name. */
export async function deployAgents(send: Send): Promise<void> {
  for (const name of AGENTS) {
    const keeper = { tools: [{ name: 'fs.write' }] };
    const spec = { task: { prompt_template: '{{input}}' }, ...(name === 'keeper' ? keeper : {}) };
    const metadata = { name, version: '1.0.0', description: 'of random workflows' };
    await send('POST', '/v1/agents?force=true', stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata, spec }));
  }
}

/** Runs the case on a node and compares its result with the result that the document defines. */
export async function checkCase(given: Case, send: Send): Promise<void> {
  const expected = interpret(given);
  for (const workflow of [...given.children, given.workflow]) {
    await send('POST', '/v1/workflows?force=true', manifestOf(workflow));
  }
  const { intent, input, blackboard } = given.start;
  const answer = await send('POST', `/v1/workflows/${given.workflow.name}/run`, { intent, input, blackboard });
  const { execution_id: id } = Started.parse(answer);
  const actual = await endOf(id, given, send);
  const unlike = differences(expected, actual);
  assert.deepEqual(unlike, [], `seed ${given.seed}, run ${id}\n${manifestOf(given.workflow)}`);
}

async function endOf(id: string, { workflow, replies }: Case, send: Send): Promise<Ended> {
  const path = `/v1/workflows/executions/${id}`;
  const answered = new Set<string>();
  const look = async () => {
    const run = Run.parse(await send('GET', path));
    if (run.status === 'completed' || run.status === 'failed') return run;
    if (run.status !== 'waiting_for_human_input') return null;
    const approval = run.waiting_for?.approval_id;
    const state = workflow.states[run.current_state ?? ''];
    if (approval === undefined || answered.has(approval) || state?.kind !== 'Human' || 'timeout' in state) return null;
    const reply = replies[answered.size % replies.length];
    answered.add(approval);
    if (reply !== undefined) await answer(reply, { path, approval }, send);
    return null;
  };
  const run = await waitUntil(`run ${id} to end`, look, PATIENCE_MS);
  return {
    status: run.status === 'failed' ? 'failed' : 'completed',
    outcome: run.outcome === 'succeeded' ? 'succeeded' : 'failed',
    code: run.error?.code ?? null,
    path: await pathOf(path, send),
    blackboard: run.blackboard,
    output: run.output ?? null,
  };
}

async function answer({ by, text }: Reply, at: { path: string; approval: string }, send: Send): Promise<void> {
  if (by === 'signal') await send('POST', `${at.path}/signal`, { response: text });
  else {
    const body: JsonMap = by === 'approve' ? { feedback: text } : { reason: text };
    await send('POST', `/v1/human-approvals/${at.approval}/${by}`, body);
  }
}

/** The states of a run, in the order in which it entered them. */
async function pathOf(path: string, send: Send): Promise<string[]> {
  const entered: string[] = [];
  for (let offset = 0; ; offset += LOG_PAGE) {
    const { events, total } = Logs.parse(await send('GET', `${path}/logs?limit=${LOG_PAGE}&offset=${offset}`));
    for (const { event_type, state_name } of events) {
      if (event_type === 'WorkflowStateEntered') entered.push(state_name ?? '');
    }
    if (offset + LOG_PAGE >= total) return entered;
  }
}

/** Runs `cases`, `lanes` at a time, since they mostly wait. Reports all that differ. */
export async function checkCases(cases: readonly Case[], send: Send, lanes = 4): Promise<void> {
  const left = [...cases];
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      try {
        await checkCase(next, send);
      } catch (error) {
        failed.push(error instanceof Error ? error.message : String(error));
        console.error(`seed ${next.seed} differs`);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  assert.deepEqual(failed.length, 0, failed.join('\n\n'));
}
