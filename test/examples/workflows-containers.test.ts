import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeImages } from '../../examples/workflows/images/make-images.ts';
import { NEEDS_PODMAN, TestPodman } from '../support/podman.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { EXAMPLES, normalise, type Start, WORKFLOW_EXAMPLES } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { asObject } from '../support/workflow-examples-run.ts';

const containerExamples = WORKFLOW_EXAMPLES.filter(({ needs }) => needs.includes('containers'));

describe('examples with containers, on a node and a Podman of their own', NEEDS_PODMAN, () => {
  const opened = new AsyncDisposableStack();
  let podman: TestPodman;
  let node: ExampleNode;
  before(async () => {
    podman = opened.use(await TestPodman.start());
    await makeImages(podman.docker);
    node = opened.use(await ExampleNode.start({ engineSocket: podman.socketPath }));
    for (const example of containerExamples) await node.client.deploy(example);
  });
  after(() => opened.disposeAsync());

  /** The first blackboard of each example and input, for comparison with a later run. */
  const kept = new Map<string, Readonly<Record<string, unknown>>>();
  const keyOf = (name: string, start: object): string => JSON.stringify([name, { by: 'run', ...start }]);
  const run = async (name: string, start: Partial<Start & { by: 'run' }> = {}) => {
    const id = await node.client.start(name, { by: 'run', ...start });
    const ended = await node.client.end(id);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    const blackboard = asObject(ended.blackboard);
    const key = keyOf(name, start);
    if (!kept.has(key)) kept.set(key, blackboard);
    return { id, output: asObject(ended.output), blackboard };
  };
  const outputOf = (blackboard: object, state: string) => asObject(asObject(asObject(blackboard)[state]).output);
  const file = async (volume: string, path: string): Promise<string> => {
    const response = await fetch(`${await node.process.url}/v1/volumes/${volume}/files/content?path=${path}`);
    assert.equal(response.status, 200, path);
    return response.text();
  };
  const volumesOf = async (id: string) => {
    const { body } = await node.client.call('GET', '/v1/volumes?limit=200');
    assert.ok(Array.isArray(body.volumes));
    return body.volumes.map(asObject).filter(({ workflow_execution_id }) => workflow_execution_id === id);
  };

  test('build-and-test: the built program passes its tests, and stays in the volume', async () => {
    const { id, output, blackboard } = await run('build-and-test');
    const built = /^slug\.js (\d+) bytes$/.exec(String(output.built))?.[1];
    assert.deepEqual(output, { verdict: 'passed', built: `slug.js ${built} bytes`, tests: 'tests 3\npass 3\nfail 0' });
    assert.match(String(outputOf(blackboard, 'TEST').stdout), /^ok 1 - words are joined by dashes$/m);
    const volumes = await volumesOf(id);
    assert.deepEqual(volumes.map(({ name }) => name).toSorted(), [`${id}/shared/dist`, `${id}/workspace`]);
    const dist = volumes.find(({ name }) => name === `${id}/shared/dist`);
    const script = await file(String(dist?.id), 'slug.js');
    assert.equal(Buffer.byteLength(script), Number(built));
    assert.doesNotMatch(script, /: string|: number/);
  });

  test('build-and-test: a bug is found, and the test that found it is named', async () => {
    const { output, blackboard } = await run('build-and-test', { input: { bug: true } });
    const tests = 'failed: words are joined by dashes\ntests 3\npass 2\nfail 1';
    assert.deepEqual(output, { verdict: 'failed', tests });
    assert.equal(outputOf(blackboard, 'TEST').exit_code, 1);
  });

  test('checks-in-parallel: all three are run whatever one says, and the summary has them all', async () => {
    const { output, blackboard } = await run('checks-in-parallel');
    const summary = `lint: failed with 1
  ./settings.env:1:REGION=north
test: ok
scan: failed with 1
  ./settings.env:2:ACCESS_KEY=
`;
    assert.deepEqual(output, { verdict: 'needs work', failed: '2', summary });
    const { lint, test: tested, scan } = outputOf(blackboard, 'CHECKS');
    assert.deepEqual(
      [lint, tested, scan].map((step) => asObject(step).exit_code),
      [1, 0, 1],
    );
    assert.equal(asObject(tested).stdout, 'ok 2 + 3\nok -1 + 1\n');
  });

  test('checks-in-parallel: sound files are clean', async () => {
    const { output } = await run('checks-in-parallel', { input: { sound: true } });
    assert.deepEqual(output, { verdict: 'clean', failed: '0', summary: 'lint: ok\ntest: ok\nscan: ok\n' });
  });

  test('release: the volume outlives the run, and the next run appends to it', async () => {
    const first = await run('release', { input: { version: '1.0.0' } });
    const volume = String(first.output.volume_id);
    const [kept] = (await volumesOf(first.id)).filter(({ id }) => id === volume);
    assert.deepEqual([kept?.storage_class, kept?.expires_at], ['persistent', null]);

    const text = readFileSync(join(EXAMPLES, 'release/workflow.yaml'), 'utf8');
    const next = text
      .replaceAll('# volume_id: VOLUME', `volume_id: ${volume}`)
      .replace('name: release', 'name: next-release');
    await node.client.deployText('workflow', next);
    const second = await run('next-release', { input: { version: '1.1.0' } });
    assert.equal(second.output.volume_id, volume);
    const releases = [first, second].map(({ output }) => ({
      file: `tool-${output.released}.tar.gz`,
      sha256: output.sha256,
    }));
    assert.notEqual(releases[0]?.sha256, releases[1]?.sha256);
    assert.deepEqual(JSON.parse(await file(volume, 'releases.json')), releases);
    assert.deepEqual(JSON.parse(String(second.output.releases)), releases);

    const again = await run('next-release', { input: { version: '1.1.0' } });
    assert.deepEqual(again.output, second.output, 'the same sources give the same archive');
    assert.equal((await node.client.call('DELETE', `/v1/volumes/${volume}`)).status, 200);
  });

  test('retry-with-backoff: two failures cost two pauses, the third attempt counts', async () => {
    const { id, output } = await run('retry-with-backoff');
    assert.deepEqual(output, { fetched: 'yes', said: 'attempt 3: here it is' });
    const [workspace] = await volumesOf(id);
    assert.equal(await file(String(workspace?.id), 'attempts'), 'attempt\n'.repeat(3));
  });

  test('retry-with-backoff: with more failures than attempts it gives up', async () => {
    const { output } = await run('retry-with-backoff', { blackboard: { failures: '9' } });
    assert.deepEqual(output, { fetched: 'no', said: 'attempt 4: not yet' });
  });

  test('two runs of each leave the same blackboard, but for ids and times', async () => {
    for (const { name, start } of someOf(containerExamples, 4)) {
      assert.ok(start.by === 'run');
      const first = kept.get(keyOf(name, start)) ?? (await run(name, start)).blackboard;
      const { blackboard } = await run(name, start);
      assert.deepEqual(normalise(blackboard), normalise(first), name);
    }
  });

  test('no container is left', async () => {
    await waitUntil('the last container to be removed', async () => {
      const containers = await podman.docker.listContainers({ all: true });
      return containers.length === 0;
    });
  });
});
