import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';
import { SvcRun } from './svc-run.ts';

const UUID = /^[0-9a-f-]{36}\n$/;

describe('svc task', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
  });
  after(() => setup.close());

  const execute = (...args: string[]) => setup.svc(['task', 'execute', 'echo', ...args]);

  test('--wait prints the final output and nothing else to standard output', async () => {
    const done = await execute('--input', 'refined', '--wait');
    assert.deepEqual([done.code, done.stdout], [0, 'OK done\n']);
    assert.match(done.stderr, /^execution [0-9a-f-]{36}$/m);
    assert.match(done.stderr, /^iteration 1 rejected: /m);
    assert.match(done.stderr, /^completed after 2 iterations$/m);
  });

  test('--wait --output json prints the whole state', async () => {
    const { stdout } = await execute('--wait', '--output', 'json', '--input', 'x');
    const state = JSON.parse(stdout);
    assert.deepEqual([state.status, state.iteration_count, state.last_output], ['completed', 1, 'OK done']);
  });

  test('--follow prints every event in order; as JSON one object a line', async () => {
    const people = await execute('--follow', '--input', 'refined');
    const at = ['started', 'iteration 1 rejected', 'refinement applied', 'iteration 2 accepted', 'completed after 2'];
    const places = at.map((text) => people.stdout.indexOf(text));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
    assert.ok(!places.includes(-1), people.stdout);

    const machines = await execute('--follow', '--output', 'json', '--input', 'refined');
    const names = machines.stdout
      .trimEnd()
      .split('\n')
      .map((line) => Object.keys(JSON.parse(line))[0]);
    assert.deepEqual([names.at(0), names.at(-1)], ['execution_started', 'execution_completed']);
    assert.ok(names.includes('refinement_applied'));
  });

  test('--follow --wait: events on standard error, the result on standard output', async () => {
    const both = await execute('--follow', '--wait', '--input', 'x');
    assert.deepEqual([both.code, both.stdout], [0, 'OK done\n']);
    assert.match(both.stderr, /iteration 1 accepted/);
  });

  test('an execution that fails ends a follower with exit code 10 and the reason', async () => {
    for (const how of ['--wait', '--follow']) {
      const failed = await execute('--input', 'hopeless', how);
      assert.equal(failed.code, 10, how);
      assert.match(failed.stderr, /^svc: the execution ended as failed: max_iterations_exceeded/m);
    }
  });

  test('input comes from a file or standard input, context from JSON', async () => {
    await writeFile(setup.file('input.txt'), 'hope');
    const joined = await execute(
      '--input',
      `@${setup.file('input.txt')}`,
      '--context',
      '{"extra":"less hopeless"}',
      '--wait',
    );
    assert.equal(joined.code, 10);
    const piped = await setup.svc(['task', 'execute', 'echo', '--input', '-', '--wait'], 'hopeless');
    assert.equal(piped.code, 10);
    const wrong = await execute('--context', '[1]');
    assert.deepEqual(
      [wrong.code, wrong.stderr],
      [2, 'svc: --context: expected a JSON object such as {"key": "value"}\n'],
    );
  });

  test('status, list, logs, cancel and remove', async () => {
    const started = await execute('--input', 'endless');
    assert.match(started.stdout, UUID);
    const id = started.stdout.trim();
    assert.equal((await setup.svc(['task', 'remove', id])).code, 4);
    assert.equal((await setup.svc(['task', 'cancel', id])).code, 0);
    assert.equal((await setup.svc(['task', 'cancel', id])).code, 4);
    assert.match((await setup.svc(['task', 'status', id])).stdout, /^status +cancelled$/m);
    const status = await setup.svc(['task', 'status', id, '--output', 'yaml']);
    assert.equal(parse(status.stdout).execution_id, id);

    const list = async () =>
      (await setup.svc(['task', 'list', '--agent', 'echo', '--status', 'cancelled', '--limit', '5'])).stdout;
    await waitUntil('the list shows the cancelled execution', async () => (await list()).includes(id));
    const logs = await setup.svc(['task', 'logs', id]);
    assert.match(logs.stdout, /^SEQUENCE +RECORDED_AT +EVENT_TYPE +DETAIL\n1 .*ExecutionStarted/);
    assert.match(logs.stdout, /ExecutionFailed +cancelled$/m);
    assert.equal((await setup.svc(['task', 'logs', id, '--follow'])).code, 10);

    assert.equal((await setup.svc(['task', 'remove', id])).code, 0);
    assert.equal((await setup.svc(['task', 'status', id])).code, 1);
  });

  test('Ctrl-C stops the following, not the execution, and says how to go on', async () => {
    const run = new SvcRun(['task', 'execute', 'echo', '--input', 'slow', '--follow'], setup.env);
    await waitUntil('the first output is shown', () => run.stdout.includes('iteration 1 started'));
    run.child.kill('SIGINT');
    const { code, stderr } = await run.end();
    assert.equal(code, 130);
    const [, id, last] = /svc --url \S+ task logs (\S+) --follow --after (\d+)/.exec(stderr) ?? [];
    assert.ok(id !== undefined && last !== undefined, stderr);
    const rest = await setup.svc(['task', 'logs', id, '--follow', '--after', last, '--output', 'json']);
    assert.equal(rest.code, 0, rest.stderr);
    assert.ok(!rest.stdout.includes('execution_started'));
    assert.match(rest.stdout, /execution_completed/);
  });

  test('a reader that closes the pipe ends the command without an error', async () => {
    const run = new SvcRun(['task', 'execute', 'echo', '--input', 'slow', '--follow', '--output', 'json'], setup.env);
    run.child.stdout.once('data', () => run.child.stdout.destroy());
    const { code, stderr } = await run.end();
    assert.deepEqual([code, stderr], [0, '']);
  });
});
