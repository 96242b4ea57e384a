import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { BUSYBOX, NEEDS_PODMAN } from '../support/podman.ts';
import { waitUntil } from '../support/wait-until.ts';
import { AgentNode, listOf, type Members, members } from './agents/agent-node.ts';
import { agentYaml } from './product-node.ts';

const write = (path: string, content: string): Members => ({ name: 'fs.write', arguments: { path, content } });

/** The model answers again according to the validator's message about its last answer. */
const RULES = [
  { match: { contains: 'say eight' }, reply: 'eight' },
  { match: { contains: 'count', round: 1 }, reply: 'seven' },
  {
    match: { contains: 'does not match ^# ', round: 1 },
    reply: { text: '', tool_calls: [write('report.md', '# Good')] },
  },
  {
    match: { contains: 'report.md does not exist', round: 1 },
    reply: { text: '', tool_calls: [write('report.md', 'Bad')] },
  },
  {
    match: { contains: 'must have required property', round: 1 },
    reply: { text: '', tool_calls: [write('sum.json', '{"total": 8}')] },
  },
  { match: { contains: 'add up', round: 1 }, reply: { text: '', tool_calls: [write('sum.json', '{}')] } },
  { reply: 'done' },
];

/** Accepts only an answer with "eight" in it. */
const COUNTS = '#!/bin/sh\ngrep -q eight && exit 0\necho "say eight, please"\nexit 1\n';

/** Runs until `go` is there; every start adds a line to `runs`. */
const WAITS = '#!/bin/sh\necho run >> runs\nwhile [ ! -e go ]; do sleep 0.1; done\n';

const MOST_MS = 90_000;

const iterative = (validation: unknown): Members => ({ mode: 'iterative', max_iterations: 4, validation });
const script = (path: string): Members => iterative({ script: { path, timeout_seconds: 60 } });

/** A workflow that creates an executable `check.sh` in its workspace, and runs the agent there. */
const prepared = (name: string, agent: string, text: string, input: string): string =>
  stringify({
    ...{ apiVersion: 'svc.dev/v1', kind: 'Workflow', metadata: { name, version: '1.0.0' } },
    spec: {
      initial_state: 'prepare',
      states: {
        prepare: {
          ...{ kind: 'System', command: 'printf %s "$TEXT" > check.sh && chmod +x check.sh', env: { TEXT: text } },
          transitions: [{ condition: 'on_success', target: 'ask' }],
        },
        ask: { kind: 'Agent', agent, input, transitions: [] },
      },
    },
  });

/** Helpers for the tests of both isolations. */
class ValidatedRuns {
  readonly at: AgentNode;

  constructor(at: AgentNode) {
    this.at = at;
  }

  async workflowEnded(id: string): Promise<Members> {
    const run = await waitUntil(
      'the run to end',
      async () => {
        const { body } = await this.at.node.call('GET', `/v1/workflows/executions/${id}`);
        return body.ended_at === null ? undefined : body;
      },
      MOST_MS,
    );
    return members(run);
  }

  /** The execution that the workflow's state has started. */
  child(workflow: string): Promise<string> {
    return waitUntil(
      'the execution of the state',
      async () => {
        const { body } = await this.at.node.call('GET', '/v1/executions?limit=100');
        const found = listOf(body.executions).find((one) => one.workflow_execution_id === workflow);
        return found === undefined ? undefined : String(found.execution_id ?? found.id);
      },
      MOST_MS,
    );
  }

  file(id: string, name: string): string {
    return join(this.at.data, 'volumes/svc-system', id, name);
  }

  /** A state's agent answers "seven", is refused by the script of the workspace with a reason, and answers "eight". */
  async countsAgain(agent: string): Promise<void> {
    const id = await this.at.node.runWorkflow(prepared(`flow-${agent}`, agent, COUNTS, 'count'));
    const run = await this.workflowEnded(id);
    assert.equal(run.outcome, 'succeeded', JSON.stringify(run));
    const events = await this.at.events(await this.child(id));
    const failed = events.map((event) => members(event.iteration_failed)).filter(({ error }) => error !== undefined);
    assert.deepEqual(
      failed.map(({ error }) => members(error).message),
      ['script (/workspace/check.sh): exit code 1: say eight, please'],
    );
    assert.equal(members(events.at(-1)?.execution_completed).final_output, 'eight');
  }
}

describe('validators that read the workspace, on a running node', { timeout: 300_000 }, () => {
  let at: AgentNode;
  let runs: ValidatedRuns;
  before(async () => {
    at = await AgentNode.start({ rules: RULES, containers: false });
    runs = new ValidatedRuns(at);
  });
  after(async () => {
    await at?.[Symbol.asyncDispose]();
  });

  test('an answer that a script rejects is repeated with the reason in the prompt, and accepted', async () => {
    await at.deploy('counter', { runtime: { isolation: 'process' }, execution: script('check.sh') });
    await runs.countsAgain('counter');
  });

  test('a file that is missing and then wrong rejects the answer, and why names the validator of a failed run', async () => {
    const execution = iterative([{ type: 'regex', pattern: '^# ', target: 'report.md' }]);
    const agent = await at.deploy('reporter', { tools: ['fs.write'], execution });
    const id = await at.node.run(agent, 'report');
    const status = await at.ended(id);
    assert.deepEqual([status.status, status.iteration_count], ['completed', 3], JSON.stringify(status));
    assert.deepEqual(await at.workspace(id), { '/report.md': '# Good' });
    const idle = await at.node.run(
      await at.deploy('idle', { execution: { ...execution, max_iterations: 1 } }),
      'report',
    );
    assert.equal((await at.ended(idle)).status, 'failed');
    const why = await at.node.call('GET', `/v1/executions/${idle}/why`);
    assert.match(why.text, /"validator":"regex \(\/workspace\/report\.md\)"/);
    assert.match(why.text, /\/workspace\/report\.md does not exist/);
  });

  test('an object that the agent writes is checked against a schema in a read-only volume', async () => {
    const made = await at.node.json('POST', '/v1/volumes', { name: 'schemas', storage_class: 'persistent' });
    const volume = String(made.body.id);
    const put = await at.node.call('PUT', `/v1/volumes/${volume}/files/content?path=sum.json`, {
      body: JSON.stringify({ type: 'object', required: ['total'] }),
      headers: { 'content-type': 'application/octet-stream' },
    });
    assert.equal(put.status, 200, put.text);
    const agent = await at.deploy('adder', {
      tools: ['fs.write'],
      execution: iterative([{ type: 'json_schema', schema_path: 'schemas/sum.json', target_path: 'sum.json' }]),
      volumes: [
        {
          ...{ name: 'schemas', storage_class: 'persistent', source: { volume_id: volume } },
          ...{ mount_path: '/workspace/schemas', access_mode: 'read-only' },
        },
      ],
    });
    const id = await at.node.run(agent, 'add up');
    const status = await at.ended(id);
    assert.deepEqual([status.status, status.iteration_count], ['completed', 2], JSON.stringify(status));
    const failed = JSON.stringify(await at.events(id));
    assert.match(failed, /json_schema \(\/workspace\/sum\.json\): \/workspace\/sum\.json does not fit the schema/);
  });

  test('a deploy refuses a file outside of the workspace, with its place', async () => {
    for (const [execution, path] of [
      [iterative([{ type: 'regex', pattern: 'root', target: '/etc/passwd' }]), 'spec.execution.validation[0].target'],
      [script('../check.sh'), 'spec.execution.validation.script.path'],
    ] as const) {
      const answer = await at.node.call('POST', '/v1/agents', {
        body: agentYaml('outside', { execution }),
        headers: { 'content-type': 'application/yaml' },
      });
      assert.equal(answer.status, 422, answer.text);
      const [detail] = listOf(answer.body.details);
      assert.equal(detail?.path, path);
      assert.match(String(detail?.message), /^expected a file of the workspace/);
    }
  });

  test('a node that is killed while a script runs starts the script again, and the run completes in one iteration', async () => {
    await at.deploy('patient', { runtime: { isolation: 'process' }, execution: script('check.sh') });
    const id = await at.node.runWorkflow(prepared('flow-killed', 'patient', WAITS, 'wait'));
    const started = (times: number) =>
      waitUntil(
        `the script to have started ${times} times`,
        async () => (await readFile(runs.file(id, 'runs'), 'utf8').catch(() => '')) === 'run\n'.repeat(times),
        MOST_MS,
      );
    await started(1);
    const child = await runs.child(id);
    const { waiting_for } = await at.node.statusOf(child);
    assert.match(JSON.stringify(waiting_for), /iteration 1 waits for its validator, which runs a script/);
    await at.node.process.kill('SIGKILL');
    await at.node.spawn();
    await started(2);
    await writeFile(runs.file(id, 'go'), '');
    const run = await runs.workflowEnded(id);
    assert.equal(run.outcome, 'succeeded', JSON.stringify(run));
    const status = await at.node.statusOf(child);
    assert.deepEqual([status.status, status.iteration_count, status.last_output], ['completed', 1, 'done']);
  });
});

describe('a validator of an agent in a container', { ...NEEDS_PODMAN, timeout: 300_000 }, () => {
  let at: AgentNode;
  before(async () => {
    at = await AgentNode.start({ rules: RULES });
  });
  after(async () => {
    await at?.[Symbol.asyncDispose]();
  });

  test('a script runs in a container of the same image, rejects an answer with its reason, and accepts the next one', async () => {
    await at.deploy('boxed', { runtime: { isolation: 'docker', image: BUSYBOX }, execution: script('check.sh') });
    await new ValidatedRuns(at).countsAgain('boxed');
  });
});
