import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { WRITES_LABEL, writerName } from '../../../usecases/intents.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { someOf } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENT_AUTHOR, FORMATTER, IntentNode, WRITER } from './intent-node.ts';

const Log = z.object({ events: z.array(z.object({ event_type: z.string(), state_name: z.string().nullable() })) });

const GOAL = 'take your time';
const PROGRAM = 'sleep 3; echo "ran once at $(date +%s)"';
/** In this order, for a goal without a matching agent and a program that does not parse at first. */
const STATES = [
  ...['GENERATE_AGENT', 'WRITE_CODE', 'VALIDATE_CODE', 'REPAIR_CODE', 'VALIDATE_REPAIRED', 'EXECUTE_CODE'],
  'FORMAT_RESULT',
];
const KILLED_IN = someOf(STATES, STATES.length);

const slowly = (text: string) => ({ text, chunks: 5, delay_ms: 300 });

/** An author that creates the writer of the goal, which answers with code that does not parse. */
const writer = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Agent',
  metadata: {
    name: writerName({ intent: GOAL, language: 'bash' }),
    version: '1.0.0',
    labels: { [WRITES_LABEL]: 'bash' },
  },
  spec: { runtime: { isolation: 'process' }, task: { instruction: 'You are the slow writer.' } },
});
const RULES = [
  {
    match: { contains: AGENT_AUTHOR, round: 1 },
    reply: { ...slowly('I do.'), tool_calls: [{ name: 'svc.agent.create', arguments: { manifest_yaml: writer } }] },
  },
  { match: { contains: AGENT_AUTHOR }, reply: slowly('{"agent_id": "told", "name": "told", "version": "1.0.0"}') },
  { match: { contains: 'You are the slow writer' }, reply: slowly('if then') },
  { match: { contains: [WRITER, 'This was tried'] }, reply: slowly(PROGRAM) },
  { match: { contains: [FORMATTER, 'ran once'] }, reply: slowly('It ran.') },
];

test(
  `a node killed in ${KILLED_IN.length} of the ${STATES.length} states of the pipeline ends it as without the kill`,
  NEEDS_PODMAN,
  async () => {
    await using podman = await TestPodman.start({ own: true });
    await using setup = await IntentNode.start(RULES, { podman, execute: { generate: true } });
    const { pipeline_execution_id: id } = await setup.start(GOAL);
    for (const state of KILLED_IN) {
      // A check of code may end between two reads: the kill then comes in the state after it.
      const reached = async () => {
        const { current_state, ended_at } = await setup.run(id);
        return ended_at !== null || STATES.indexOf(current_state ?? '') >= STATES.indexOf(state);
      };
      await waitUntil(`the run is in ${state}`, reached, 90_000);
      await setup.node.process.kill();
      await setup.node.spawn();
    }
    const ended = await setup.ended(id);
    assert.ok(ended.status === 'completed', JSON.stringify(ended));
    assert.deepEqual([ended.final_result, ended.reused_existing_agent], ['It ran.', false]);
    assert.deepEqual(await setup.status(id), ended);
    // Each state was entered once, and the agent was created once.
    const { body } = await setup.node.call('GET', `/v1/workflows/executions/${id}/logs?limit=200`);
    const entered = Log.parse(body).events.filter(({ event_type }) => event_type === 'WorkflowStateEntered');
    const names = entered.map(({ state_name }) => state_name);
    assert.deepEqual(
      names.filter((name) => STATES.includes(name ?? '')),
      STATES,
    );
    assert.equal(new Set(names).size, names.length, names.join());
  },
);

test('a node killed while an authoring agent repairs its manifest deploys it once', async () => {
  const manifest = (spec: object) =>
    stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name: 'mended', version: '1.0.0' }, spec });
  const creates = (spec: object) => [{ name: 'svc.agent.create', arguments: { manifest_yaml: manifest(spec) } }];
  const round = (at: number, reply: unknown) => ({ match: { contains: AGENT_AUTHOR, round: at }, reply });
  await using setup = await IntentNode.start([
    round(1, { tool_calls: creates({ wrong: true }) }),
    round(2, { text: 'I see.', chunks: 3, delay_ms: 500, tool_calls: creates({ task: { instruction: 'Mend.' } }) }),
    round(3, { text: '{"agent_id": "a", "name": "mended", "version": "1.0.0"}', chunks: 3, delay_ms: 500 }),
  ]);
  const id = await setup.generate('agents', 'something');
  for (const calls of [1, 2]) {
    // The next call may end between two reads.
    const called = async () => Number((await setup.node.statusOf(id)).tool_calls_executed) >= calls;
    await waitUntil(`the author has made ${calls} calls`, called, 60_000);
    await setup.node.process.kill();
    await setup.node.spawn();
  }
  const task = await setup.written(id);
  assert.deepEqual([task.status, task.iteration_count, task.tool_calls_executed], ['completed', 1, 2]);
  const { body } = await setup.node.call('GET', '/v1/agents/lookup/mended');
  const log = await setup.node.call('GET', `/v1/agents/${body.agent_id ?? body.id}/logs`);
  assert.equal(log.body.total, 1, log.text);
});
