import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { svc } from '../cli/svc-run.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { normalise, WORKFLOW_EXAMPLES, type WorkflowExample } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { type Answer, asObject } from '../support/workflow-examples-run.ts';

/** File with one line for each run of a command. */
const witness = join(tmpdir(), `svc-fork-${process.pid}`);

const step = (name: string, next: string | null): string => `
    ${name}:
      kind: System
      command: echo ${name} {{blackboard.word}} >> ${witness} && echo said {{blackboard.word}}
      transitions: ${next === null ? '[]' : `[{condition: always, target: ${next}}]`}`;

const workflow = (version: string, states: string): string => `
apiVersion: svc.dev/v1
kind: Workflow
metadata: {name: forked, version: ${version}}
spec:
  initial_state: ONE
  context: {word: old}
  states: ${states}`;

const ASK = `
    ASK:
      kind: Human
      prompt: 'go on?'
      transitions: [{condition: always, target: TWO}]`;

describe('a fork of a run', () => {
  let node: ExampleNode;
  before(async () => {
    node = await ExampleNode.start({ sandbox: 'off' });
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await rm(witness, { force: true });
  });

  const fork = (id: string, body: Record<string, unknown>, key?: string): Promise<Answer> =>
    node.client.call('POST', `/v1/runs/${id}/fork`, {
      body,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });
  const lines = async (): Promise<string[]> => (await readFile(witness, 'utf8')).trim().split('\n');

  /** Messages of a run that has ended, in their order, up to the last one. */
  async function messagesOf(kind: string, id: string): Promise<{ id: string; type: string }[]> {
    const look = async (): Promise<{ id: string; type: string }[] | null> => {
      const { body } = await node.client.call('GET', `/v1/actors/${kind}/${id}/history?limit=200`);
      const { body: actor } = await node.client.call('GET', `/v1/actors/${kind}/${id}`);
      const deliveries = Array.isArray(body.deliveries) ? body.deliveries.map(asObject) : [];
      const last = deliveries.at(-1);
      if (last === undefined || actor.archived !== true) return null;
      const at = await node.client.call('GET', `/v1/actors/${kind}/${id}/state?at=${String(last.message_id)}`);
      if (at.body.revision !== actor.revision) return null;
      return deliveries.map(({ message_id, type }) => ({ id: String(message_id), type: String(type) }));
    };
    return waitUntil(`the whole history of ${id}`, look, 30_000);
  }

  const shown = ({ status, blackboard, output }: Readonly<Record<string, unknown>>) =>
    normalise({ status, blackboard, output });

  /** Forks an ended run at its messages; unchanged, each fork must end as the original did. */
  async function forkAtEach(example: WorkflowExample, most: number): Promise<number> {
    await node.client.deploy(example);
    const id = await node.client.start(example.name, example.start);
    const original = await node.client.end(id, example.answers);
    const messages = await messagesOf('workflow', id);
    let forks = 0;
    for (const { id: message_id, type } of messages.slice(0, most)) {
      const { status, body } = await fork(id, { message_id });
      if (status === 409) continue;
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(body.forked_from, { id, message_id });
      const ended = await node.client.end(String(body.id), example.answers);
      assert.deepEqual(shown(ended), shown(original), `${example.name} forked at ${type}`);
      assert.deepEqual(ended.forked_from, { id, message_id });
      forks += 1;
    }
    return forks;
  }

  test('a fork at each message of workflows with children, agents and judges ends as the original did', async () => {
    const names = sample({ normal: ['parent-with-children'], long: ['parent-with-children', 'refine-with-judges'] });
    for (let round = 0; round < sample({ normal: 1, long: 25 }); round += 1) {
      for (const name of names) {
        const example = WORKFLOW_EXAMPLES.find((one) => one.name === name);
        assert.ok(example !== undefined);
        assert.ok((await forkAtEach(example, sample({ normal: 2, long: 100 }))) > 0);
      }
    }
  });

  test('it repeats no command that had ended, runs an open one once, and differs only after its message', async () => {
    const states = `${step('ONE', 'ASK')}${ASK}${step('TWO', 'THREE')}${step('THREE', null)}`;
    await node.client.deployText('workflow', workflow('1.0.0', states));
    const id = await node.client.start('forked', { by: 'run' });
    const answers = [{ verdict: 'approve', text: 'yes' }] as const;
    const original = await node.client.end(id, answers);
    const messages = await messagesOf('workflow', id);
    assert.deepEqual(await lines(), ['ONE old', 'TWO old', 'THREE old']);

    const commands = messages.filter(({ type }) => type === 'CommandEnded');
    const ranAfter = new Map([
      [messages[0]?.id, ['ONE', 'TWO', 'THREE']],
      [commands[0]?.id, ['TWO', 'THREE']],
      [commands[1]?.id, ['THREE']],
    ]);
    for (const [message_id, expected] of ranAfter) {
      const earlier = (await lines()).length;
      const { body } = await fork(id, { message_id });
      assert.deepEqual(shown(await node.client.end(String(body.id), answers)), shown(original));
      assert.deepEqual(
        (await lines()).slice(earlier),
        expected.map((name) => `${name} old`),
      );

      const before = (await lines()).length;
      const changed = await fork(id, { message_id, blackboard: { word: 'new' }, reason: 'another word' });
      assert.equal(changed.status, 200, JSON.stringify(changed.body));
      const ended = await node.client.end(String(changed.body.id), answers);
      assert.deepEqual(
        (await lines()).slice(before),
        expected.map((name) => `${name} new`),
      );
      assert.deepEqual(ended.forked_from, { id, message_id, reason: 'another word' });
      assert.deepEqual(Object.keys(asObject(ended.blackboard)), Object.keys(asObject(original.blackboard)));
    }
  });

  test('it asks again for an approval that was open, and not for one that was answered', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    const opened = (await messagesOf('workflow', id)).find(({ type }) => type === 'ApprovalWord');
    const { body } = await fork(id, { message_id: opened?.id });
    const run = String(body.id);
    const approval = await waitUntil('an approval of its own', () => node.client.pendingApproval(run));
    await node.client.answer(approval, { verdict: 'approve', text: 'no' });
    const ended = await node.client.end(run);
    assert.equal(asObject(asObject(ended.blackboard).ASK).feedback, 'no');

    const { body: last } = await fork(id, {});
    assert.equal((await node.client.end(String(last.id))).status, 'completed');
  });

  test('with the same key it is one run, and another body is refused', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    const [first] = await messagesOf('workflow', id);
    const at = { message_id: first?.id };
    const forks = await Promise.all([fork(id, at, 'once'), fork(id, at, 'once'), fork(id, at, 'once')]);
    assert.deepEqual(
      forks.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(new Set(forks.map(({ body }) => body.id)).size, 1);
    assert.equal((await fork(id, { ...at, reason: 'other' }, 'once')).status, 409);
    const run = String(forks[0]?.body.id);
    const why = await node.client.call('GET', `/v1/workflows/executions/${run}/why`);
    assert.deepEqual(why.body.forked_from, { id, ...at });
    const [own, its] = await Promise.all(
      [run, id].map((one) => node.client.call('GET', `/v1/workflows/executions/${one}`)),
    );
    const link = { trace_id: its?.body.trace_id, relation: 'forked_from' };
    await waitUntil('the trace of the fork to name that of the original', async () => {
      const { body } = await node.client.call('GET', `/v1/traces/${String(own?.body.trace_id)}`);
      return JSON.stringify(body.links ?? []).includes(JSON.stringify(link));
    });
  });

  test('an invalid fork is refused, and the error names the field', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    const messages = await messagesOf('workflow', id);
    const ended = await fork(id, { message_id: messages.at(-1)?.id });
    assert.deepEqual([ended.status, /message_id/.test(String(ended.body.message))], [409, true]);
    const foreign = await fork(id, { message_id: '00000000-0000-4000-8000-000000000000' });
    assert.deepEqual(
      [foreign.status, foreign.body.message],
      [404, 'message_id: the run received no message with this id'],
    );
    const [start] = messages;
    const other = await fork(id, { message_id: start?.id, manifest: workflow('2.0.0', step('ONE', null)) });
    assert.equal(other.status, 200, JSON.stringify(other.body));
    const opened = messages.find(({ type }) => type === 'ApprovalWord');
    const lacks = await fork(id, { message_id: opened?.id, manifest: workflow('2.0.0', step('ONE', null)) });
    assert.equal(lacks.status, 422);
    assert.match(String(lacks.body.message), /no state ASK of kind Human/);
    assert.equal((await fork(id, { context: { a: 1 } })).status, 422);
    const broken = await fork(id, { message_id: start?.id, manifest: 'no: [' });
    assert.match(String(broken.body.message), /^manifest: not valid YAML: /);
    const unknown = await fork('00000000-0000-4000-8000-000000000000', {});
    assert.deepEqual([unknown.status, unknown.body.message], [404, 'run not found']);
  });

  test('it accepts a manifest as long as a deploy does', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    const [start] = await messagesOf('workflow', id);
    const comment = `# ${'long '.repeat(40_000)}\n`;
    const taken = await fork(id, { message_id: start?.id, manifest: comment + workflow('3.0.0', step('ONE', null)) });
    assert.equal(taken.status, 200, JSON.stringify(taken.body));
    assert.equal((await node.client.end(String(taken.body.id))).workflow_version, '3.0.0');
  });

  test('svc fork starts a fork of a run, and one of each run that a filter finds, with keys derived from one key', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    await messagesOf('workflow', id);
    const url = await node.process.url;
    const one = await svc(['--url', url, 'fork', id, '--reason', 'once more', '--output', 'json']);
    assert.equal(one.code, 0, one.stderr);
    const forked = asObject(JSON.parse(one.stdout));
    assert.equal(asObject(forked.forked_from).reason, 'once more');
    await node.client.end(String(forked.id));

    const many = ['fork', '--filter', 'name=forked', '--filter', `text=${id}`, '--rate', '20/s', '--limit', '5'];
    const keyed = ['--url', url, ...many, '--idempotency-key', 'batch', '--output', 'json'];
    const first = await svc(keyed);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, /^1 run to fork under the key batch\n1 of 1: /);
    assert.deepEqual((await svc(keyed)).stdout, first.stdout);
    assert.equal((await svc(['fork', '--filter', 'name=forked', '--rate', 'fast'])).code, 2);
  });

  test('a fork whose node is killed at any moment starts once or not at all, and no ended command is repeated', async () => {
    const id = await node.client.start('forked', { by: 'run' });
    await node.client.end(id, [{ verdict: 'approve', text: 'yes' }]);
    const messages = await messagesOf('workflow', id);
    const message_id = messages.find(({ type }) => type === 'CommandEnded')?.id;
    const earlier = (await lines()).filter((line) => line.startsWith('ONE')).length;
    const rounds = sample({ normal: 2, long: 30 });
    const forks: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const asked = fork(id, { message_id }, `killed-${round}`);
      await sleep((round * 17) % 60);
      await node.process.kill('SIGKILL');
      node.process.spawn();
      // The client repeats the call under its key until it is answered.
      const { status, body } = await asked;
      assert.equal(status, 200, JSON.stringify(body));
      forks.push(String(body.id));
    }
    for (const one of forks)
      assert.equal((await node.client.end(one, [{ verdict: 'approve', text: 'yes' }])).status, 'completed');
    // Lists are updated after the commit.
    const found = await waitUntil('all of them are listed', async () => {
      const { body } = await node.client.call('GET', '/v1/runs?name=forked&limit=1000');
      const listed = (Array.isArray(body.runs) ? body.runs : []).map(asObject);
      const ofRun = listed.filter(({ forked_from }) => asObject(forked_from).id === id);
      return ofRun.length >= forks.length && ofRun.map((run) => String(run.id));
    });
    assert.deepEqual(found.sort(), forks.sort());
    assert.equal((await lines()).filter((line) => line.startsWith('ONE')).length, earlier);
  });
});
