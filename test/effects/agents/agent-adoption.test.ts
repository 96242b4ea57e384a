import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createContainerStarts } from '../../../effects/containers/state.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type AgentUnderTest, agentUnderTest, EXECUTION, exec, final, loop, runAgent } from './agent-under-test.ts';

const NODE = join(import.meta.dirname, 'agent-node.ts');

describe('the container of an agent outlives its node', NEEDS_PODMAN, () => {
  let at: AgentUnderTest;
  before(async () => {
    at = await agentUnderTest();
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
  });
  const container = (effectId: string) => at.setup.podman.docker.getContainer(`svc-${effectId}`);

  test('after kill -9 another node adopts the agent in the middle of its run, and no command runs again', async () => {
    const effectId = randomUUID();
    const documentsAt = join(at.setup.podman.directory, 'node-b');
    const volume = at.setup.volume(EXECUTION);
    await mkdir(volume, { recursive: true });
    const boxesOfB = join(at.setup.podman.directory, 'boxes-b');
    const args = [at.setup.podman.socketPath, documentsAt, boxesOfB, effectId, volume];
    const node = fork(NODE, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    // Its inner loop has the result of the command and has not answered.
    await once(node, 'message');
    const gone = once(node, 'exit');
    node.kill('SIGKILL');
    await gone;
    const { Id } = await container(effectId).inspect();

    const documents = new SqliteDocuments({ directory: documentsAt });
    await documents.open();
    const starts = await createContainerStarts(documents);
    const made = loop([exec('cat runs', { dispatch_id: 'd-2' }), final('in the end')]);
    const { result, progress } = await runAgent(at.parts(made.gateway, { starts }), {}, { effectId, attempt: 2 });
    assert.deepEqual([result.exit_code, result.stdout, result.stderr], [0, 'in the end', '']);
    assert.deepEqual(progress, [{ container_id: Id }], 'it is the same container');
    assert.deepEqual(
      made.asked.map(({ request }) => [request.dispatch_id, request.exit_code, request.stdout]),
      [
        ['d-1', 0, 'out\n'],
        ['d-2', 0, 'ran\n'],
      ],
      'the unanswered message was sent again, the command did not run again',
    );
    assert.equal(await readFile(join(volume, 'runs'), 'utf8'), 'ran\n');
    assert.deepEqual([...(await readdir(boxesOfB)), ...(await readdir(at.boxes))], []);

    const again = await runAgent(at.parts(loop([]).gateway, { starts }), {}, { effectId, attempt: 3 });
    assert.deepEqual(again.result, result, 'an ended container gives its result again');
    await documents.close();
  });

  test('a node that stops leaves the agent and its exchange to the next node', async () => {
    const effectId = randomUUID();
    const stop = new AbortController();
    const first = loop([
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
    ]);
    const running = runAgent(at.parts(first.gateway), {}, { effectId, signal: stop.signal }).catch(
      (error: unknown) => error,
    );
    await waitUntil('the agent asks', () => first.asked.length > 0);
    stop.abort(new SvcError('lease_lost'));
    const error = await running;
    assert.ok(error instanceof SvcError && error.code === 'lease_lost', String(error));
    assert.equal((await container(effectId).inspect()).State.Running, true);
    const next = loop([final('answered by another')]);
    const { result } = await runAgent(at.parts(next.gateway), {}, { effectId, attempt: 2 });
    assert.equal(result.stdout, 'answered by another');
    assert.equal(next.asked[0]?.call, first.asked[0]?.call, 'the same question is asked again');
  });

  test('an agent whose container was removed is in doubt and not run again', async () => {
    const effectId = randomUUID();
    const first = loop([() => new Promise(() => {})]);
    const running = runAgent(at.parts(first.gateway), {}, { effectId }).catch((error: unknown) => error);
    await waitUntil('the agent asks', () => first.asked.length > 0);
    await container(effectId).remove({ force: true });
    await running;
    const second = loop([final('x')]);
    await assert.rejects(runAgent(at.parts(second.gateway), {}, { effectId, attempt: 2 }), { code: 'in_doubt' });
    assert.deepEqual(second.asked, []);
  });
});
