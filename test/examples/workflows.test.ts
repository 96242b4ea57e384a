import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { svc } from '../cli/svc-run.ts';
import { waitUntil } from '../support/wait-until.ts';
import { EXAMPLE_ENV, EXAMPLES, normalise, WORKFLOW_EXAMPLES } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { asObject } from '../support/workflow-examples-run.ts';

const manifests = globSync('**/*.yaml', { cwd: EXAMPLES })
  .map((file) => ({ file, text: readFileSync(join(EXAMPLES, file), 'utf8') }))
  .filter(({ text }) => text.includes('\nkind: Workflow\n'));

const exampleOf = (name: string) => {
  const found = WORKFLOW_EXAMPLES.find((example) => example.name === name);
  assert.ok(found, name);
  return found;
};

const has = (program: string): boolean => spawnSync(program, ['version'], { stdio: 'ignore' }).error === undefined;
const NEEDS_SENDER =
  has('curl') && has('openssl') ? {} : { skip: 'SEND.SH NOT TESTED: curl or openssl is not installed' };

test('every example says what it shows, how to run it and what it needs, and is in the list', () => {
  assert.ok(manifests.length >= 8);
  for (const { file, text } of manifests)
    assert.match(text, /^# Shows: .+\n(# .+\n)*# Run: .+\n(# .+\n)*# Needs: /, file);
  const folders = globSync('*/workflow.yaml', { cwd: EXAMPLES }).map((file) => dirname(file));
  assert.deepEqual(
    folders.toSorted(),
    WORKFLOW_EXAMPLES.map(({ name }) => name),
  );
});

describe('examples without containers, on a node of their own', () => {
  const opened = new AsyncDisposableStack();
  let node: ExampleNode;
  before(async () => {
    node = opened.use(await ExampleNode.start());
  });
  after(() => opened.disposeAsync());

  const run = async (name: string, start = exampleOf(name).start) => {
    const ended = await node.client.run(exampleOf(name), start);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    return { id: ended.execution_id, output: asObject(ended.output), blackboard: asObject(ended.blackboard) };
  };
  const stdout = (blackboard: object, state: string): unknown =>
    asObject(asObject(asObject(blackboard)[state]).output).stdout;

  test('all of them pass svc workflow validate without a finding, but that this node measures volumes', async () => {
    for (const example of WORKFLOW_EXAMPLES) await node.client.deploy(example);
    for (const { file, text } of manifests) {
      const { body } = await node.client.call('POST', '/v1/workflows/validate', { body: text });
      const findings = Array.isArray(body.findings) ? body.findings.map(asObject) : [];
      assert.deepEqual([body.valid, findings.filter(({ rule }) => rule !== 'size_is_measured')], [true, []], file);
    }
    const file = join(EXAMPLES, 'release/workflow.yaml');
    const said = await svc(['workflow', 'validate', file], { SVC_URL: await node.process.url });
    assert.ok(said.stdout.endsWith(`\n${file}: valid, 0 errors, 1 warning\n`), said.stdout);
  });

  test('data-job: svc run gives the figures of the sound rows, and the report is in the workspace', async () => {
    const env = { SVC_URL: await node.process.url };
    const said = await svc(['run', join(EXAMPLES, 'data-job/workflow.yaml')], env);
    assert.equal(said.code, 0, said.stderr);
    const output = asObject(JSON.parse(said.stdout));
    assert.deepEqual([output.sound_rows, output.best_region, output.total], ['6', 'north,8,341.40', '821.10']);
    const [workspace = ''] = /\S+$/.exec(String(output.report)) ?? [];
    const report = await fetch(`${env.SVC_URL}/v1/volumes/${workspace}/files/content?path=report.md`);
    assert.equal(
      await report.text(),
      `# Orders by region

- north: 8 pieces, 341.40
- west: 2 pieces, 259.80
- south: 3 pieces, 219.90

Total: 821.10

Rejected rows:
- line 5: pieces is no whole number above 0: x
- line 8: pieces is no whole number above 0: -1
- line 9: expected 4 fields, found 2
`,
    );
  });

  test('data-job: when all rows are invalid nothing is added up', async () => {
    const { output } = await run('data-job', {
      by: 'run',
      input: { csv: 'region,product,pieces,price\nnorth,lamp,no,1' },
    });
    assert.deepEqual(output, { sound_rows: '0', rejected: '0\n2: pieces is no whole number above 0: no\n' });
  });

  test('batch-loop: every file is in one batch, and the loop ends', async () => {
    const { output, blackboard } = await run('batch-loop', { by: 'run', input: { files: 10 } });
    assert.deepEqual(output, { batches: '4', files_and_bytes: '10 91' });
    assert.equal(stdout(blackboard, 'FILL'), '4\n');
  });

  test('approval-gate: what was approved is removed, and nothing else', async () => {
    const { output } = await run('approval-gate');
    const removed = 'invoice-01\ninvoice-02\n';
    assert.deepEqual(output, { removed, left: 'invoice-03\ninvoice-04\n', said: 'go ahead' });
  });

  test('approval-gate: a rejection keeps everything, with the reason', async () => {
    const id = await node.client.start('approval-gate', { by: 'run', input: { older_than_days: 90 } });
    const approval = await waitUntil('the approval', () => node.client.pendingApproval(id));
    const args = ['approval', 'reject', approval, '--reason', 'keep them until Monday'];
    const said = await svc(args, { SVC_URL: await node.process.url });
    assert.equal(said.code, 0, said.stderr);
    const { output } = await node.client.end(id);
    assert.deepEqual(output, { removed: 'none', planned: 'invoice-01\n', said: 'keep them until Monday' });
  });

  test('approval-gate: without an answer in time the default response counts', async () => {
    const text = readFileSync(join(EXAMPLES, 'approval-gate/workflow.yaml'), 'utf8');
    const short = text.replace('name: approval-gate', 'name: short-gate').replace('timeout: 24h', 'timeout: 500ms');
    assert.notEqual(short, text);
    await node.client.deployText('workflow', short);
    const { output } = await node.client.end(await node.client.start('short-gate', { by: 'run' }));
    assert.deepEqual(output, { removed: 'none', planned: 'invoice-01\ninvoice-02\n', said: 'rejected' });
  });

  test('parent-with-children: one child is waited for, the other ends by itself', async () => {
    const { output, blackboard } = await run('parent-with-children');
    const { counted_by, noted_by, ...figures } = output;
    assert.deepEqual(figures, { words: '23\n', most_frequent: 'the=3\na=2\nactor=2', note: 'success' });
    assert.equal(stdout(asObject(blackboard.counted), 'TOP'), 'the=3\na=2\nactor=2\n');
    const counted = await node.client.end(String(counted_by));
    assert.deepEqual(asObject(counted.blackboard), blackboard.counted);
    const noted = await node.client.end(String(noted_by));
    assert.deepEqual([noted.status, noted.output], ['completed', { note: 'the=3\na=2\nactor=2' }]);
  });

  test('on-webhook: a signed push becomes a change log, and the run knows where it came from', async () => {
    const { output, blackboard } = await run('on-webhook');
    const changes = `- feat: addresses may be cut (c3d5)
- fix: an empty title no longer fails (a1f3)
- docs: how addresses are made (b2e4)
`;
    const { id, source } = asObject(blackboard.stimulus);
    const said_by = 'example-forge, delivery 7';
    assert.deepEqual(output, { repository: 'example/tool', changes, said_by, stimulus: id });
    assert.equal(source, 'example-forge');
    assert.doesNotMatch(JSON.stringify(blackboard), /sha256=/, 'the signature is not kept');
  });

  test('on-webhook: a push that was signed with another secret starts nothing', async () => {
    const headers = { 'content-type': 'application/json', 'x-svc-signature': `sha256=${'0'.repeat(64)}` };
    const { status } = await node.client.call('POST', '/v1/webhooks/example-forge', { body: '{}', headers });
    assert.equal(status, 401);
  });

  test('on-webhook: send.sh sends it, signed', NEEDS_SENDER, async () => {
    await node.client.deploy(exampleOf('on-webhook'));
    const args = [join(EXAMPLES, 'on-webhook/send.sh'), await node.process.url];
    const { stdout: said } = await promisify(execFile)('sh', args, { env: { PATH: process.env.PATH, ...EXAMPLE_ENV } });
    const ended = await node.client.end(String(asObject(JSON.parse(said)).workflow_execution_id));
    assert.match(String(asObject(ended.output).changes), /^- feat: addresses may be cut/);
  });

  test('refine-with-judges: the first draft goes back with what the judges said, the second one passes', async () => {
    const { id, output, blackboard } = await run('refine-with-judges');
    const notes = `# tool 1.1 (scripted, no model was asked)
- addresses may be cut to 40 characters
- an empty title no longer fails`;
    // (2·0.9 + 2·0.95 + 0.8) / 5; the confidence is 0.7 of the agreement and 0.3 of the judges' own.
    assert.deepEqual(output, { notes, words: '23', score: '0.9', confidence: '0.947111111111' });
    const results = asObject(blackboard.JUDGE).individual_results;
    assert.ok(Array.isArray(results));
    assert.deepEqual(
      results.map((result) => asObject(result).score),
      [0.9, 0.95, 0.8],
    );
    const { body } = await node.client.call('GET', `/v1/workflows/executions/${id}/logs?limit=200`);
    assert.ok(Array.isArray(body.events));
    const entered = body.events.map(asObject).filter(({ event_type }) => event_type === 'WorkflowStateEntered');
    const states = entered.map(({ state_name }) => state_name);
    assert.deepEqual(states, ['WRITE', 'JUDGE', 'WRITE', 'JUDGE', 'SAVE', 'DONE']);
  });

  test('two runs of each leave the same blackboard, but for ids and times', async () => {
    for (const example of WORKFLOW_EXAMPLES.filter(({ needs }) => !needs.includes('containers'))) {
      const [one, other] = await Promise.all([run(example.name), run(example.name)]);
      assert.deepEqual(normalise(one.blackboard), normalise(other.blackboard), example.name);
      assert.deepEqual(normalise(one.output), normalise(other.output), example.name);
    }
  });
});
