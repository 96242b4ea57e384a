import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counted, table } from '../../cli/output.ts';
import { cutTo, padded, widthOf } from '../../cli/screen/width.ts';
import { CliNode } from './cli-node.ts';
import { svc } from './svc-run.ts';

const agent = (name: string, text: string, version = '1.0.0'): string => `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: ${name}, version: "${version}" }
spec: { task: { instruction: ${text} } }
`;

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: greet, version: "1.0.0" }
spec:
  initial_state: HELLO
  states:
    HELLO:
      kind: System
      command: finalize
      env: { text: "hello {{input.who}}" }
      transitions: []
`;

describe('the first day at the command line', () => {
  let setup: CliNode;
  let contexts: string;
  before(async () => {
    setup = await CliNode.open();
    contexts = setup.file('contexts.json');
    await mkdir(setup.file('all/parts'), { recursive: true });
    await writeFile(setup.file('all/one.yaml'), agent('one', 'Say one.'));
    await writeFile(setup.file('all/parts/greet.yml'), WORKFLOW);
  });
  after(() => setup.close());

  test('svc run starts the agent or workflow of a name or a file, with a text or an object as input', async () => {
    const echo = await setup.svc(['run', 'echo', '--input', 'hello', '--label', 'day=first']);
    assert.deepEqual([echo.code, echo.stdout], [0, 'OK done\n'], echo.stderr);
    const fresh = await setup.svc(['run', setup.file('all/one.yaml'), '--input', '{"a": 1}', '--detach']);
    assert.match(fresh.stdout, /^[0-9a-f-]{36}\n$/, fresh.stderr);
    const greeted = await setup.svc(['run', setup.file('all/parts/greet.yml'), '--input', '{"who": "ann"}']);
    assert.match(greeted.stdout, /hello ann/, greeted.stderr);
    const again = await setup.svc(['run', 'greet', '--input', '{"who": "bob"}']);
    assert.match(again.stdout, /hello bob/, again.stderr);
    const listed = await setup.svc(['runs', 'list', '--label', 'day=first']);
    assert.match(listed.stdout, /^ID +KIND +NAME +VERSION +STATUS +OUTCOME .*DURATION +LABELS/);
    assert.match(listed.stdout, /execution +echo +1\.0\.0 .*day=first/);
    assert.match((await setup.svc(['task', 'list'])).stdout, /^EXECUTION_ID +AGENT [\s\S]* echo /);
  });

  test('the error for an unknown name suggests the name that was meant', async () => {
    const slips: [string[], RegExp][] = [
      [['run', 'ehco'], /there is no file, workflow or agent ehco; did you mean "echo"\?/],
      [['task', 'execute', 'eco'], /there is no agent eco; did you mean "echo"\?/],
      [['workflow', 'run', 'gret'], /there is no workflow gret; did you mean "greet"\?/],
      [['agent', 'show', 'nothing-like-it'], /there is no agent nothing-like-it$/m],
    ];
    for (const [args, said] of slips) {
      const { code, stderr } = await setup.svc(args);
      assert.deepEqual([code, said.test(stderr)], [1, true], stderr);
    }
  });

  test('a refusal is one line in the words of the command line, and svc trace takes the id of a run', async () => {
    const slips: [string[], string][] = [
      [['runs', 'list', '--from', 'yesterday'], 'from: expected an ISO 8601 time such as 2026-01-31T12:00:00Z'],
      [['runs', 'list', '--label', 'day'], 'label: expected KEY=VALUE'],
      [['trace', 'slip'], 'trace_id: expected the id of a trace: 32 lower-case hex digits'],
    ];
    for (const [args, text] of slips) assert.equal((await setup.svc(args)).stderr, `svc: ${text}\n`, args.join(' '));
    const run = (await setup.svc(['run', 'echo', '--input', 'x', '--detach'])).stdout.trim();
    const shown = await setup.svc(['trace', run]);
    assert.match(shown.stdout, /^trace [0-9a-f]{32}: /, shown.stderr);
    const [, count, noun] = /^(\d+) (\w+) in /m.exec((await setup.svc(['trace', 'summary', run])).stdout) ?? [];
    assert.equal(noun, count === '1' ? 'delivery' : 'deliveries');
  });

  test('the error for an unknown id names every kind of object that was looked for', async () => {
    const id = randomUUID();
    for (const args of [
      ['trace', id],
      ['trace', 'summary', id],
      ['trace', 'critical-path', id],
    ]) {
      const { code, stderr } = await setup.svc(args);
      assert.deepEqual([code, stderr], [1, `svc: no run, execution, workflow or trace has the id ${id}\n`]);
    }
    assert.deepEqual((await setup.svc(['why', id])).stderr, `svc: no execution or workflow run has the id ${id}\n`);
  });

  test('svc apply shows a plan, deploys what differs and nothing else; svc diff shows the lines', async () => {
    const of = ['-f', setup.file('all')];
    await writeFile(setup.file('all/two.yaml'), agent('two', 'Say two.'));
    const refused = await setup.svc(['apply', ...of]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^\+ agent two 1\.0\.0: create\n= workflow greet 1\.0\.0: unchanged$/m);
    assert.match(
      refused.stderr,
      /--yes: required without a terminal, where svc cannot ask; 1 manifest would be deployed/,
    );
    const differs = await setup.svc(['diff', ...of]);
    assert.equal(differs.code, 4);
    assert.match(differs.stdout, /\+\+\+ .*two\.yaml\n[\s\S]*\+spec: \{ task: \{ instruction: Say two\. \} \}/);
    assert.equal((await setup.svc(['apply', ...of, '--yes'])).code, 0);
    assert.deepEqual(
      [(await setup.svc(['diff', ...of])).code, (await setup.svc(['agent', 'show', 'two'])).code],
      [0, 0],
    );

    await writeFile(setup.file('all/one.yaml'), agent('one', 'Say one twice.'));
    await writeFile(setup.file('all/two.yaml'), agent('two', 'Say two.', '1.1.0'));
    const plan = await setup.svc(['apply', ...of, '--dry-run', '--output', 'json']);
    assert.equal(plan.code, 0, plan.stderr);
    const changes = JSON.parse(plan.stdout).map((one: { name: string; change: string }) => `${one.name} ${one.change}`);
    assert.deepEqual(changes, ['one replace', 'two new version', 'greet unchanged']);
    assert.equal((await setup.svc(['apply', ...of, '--yes'])).code, 0);
    assert.match((await setup.svc(['agent', 'export', 'one'])).stdout, /twice/);
  });

  test('one manifest that is not valid keeps all from being deployed, and each problem is FILE:LINE:COLUMN', async () => {
    await mkdir(setup.file('bad'));
    await writeFile(setup.file('bad/good.yaml'), agent('good', 'x'));
    await writeFile(setup.file('bad/key.yaml'), agent('key', 'x').replace('instruction', 'instrucion'));
    await writeFile(setup.file('bad/state.yaml'), WORKFLOW.replace('initial_state: HELLO', 'initial_state: HELO'));
    await writeFile(setup.file('bad/empty.yaml'), '\n');
    const { code, stderr } = await setup.svc(['apply', '-f', setup.file('bad'), '--yes']);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /key\.yaml:4:17: spec\.task\.instrucion: unknown key "instrucion"; did you mean "instruction"\?/,
    );
    assert.match(stderr, /state\.yaml:5:3: spec\.initial_state: .*got "HELO"; did you mean "HELLO"\?/);
    assert.match(stderr, /empty\.yaml: expected the manifest of an agent or a workflow; it is empty/);
    assert.equal((await setup.svc(['agent', 'show', 'good'])).code, 1);
    const wrong = await setup.svc(['agent', 'deploy', setup.file('all/parts/greet.yml')]);
    assert.match(wrong.stderr, /greet\.yml: it is the manifest of a workflow: svc workflow deploy /);
  });

  test('svc apply skips what is no manifest in a directory and says so; a file that is named is checked', async () => {
    await mkdir(setup.file('mixed/node_modules/other'), { recursive: true });
    await writeFile(setup.file('mixed/mine.yaml'), agent('mine', 'x'));
    await writeFile(setup.file('mixed/svc.yaml'), 'apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: { name: n }\n');
    await writeFile(setup.file('mixed/compose.yml'), 'services: {}\n');
    await writeFile(setup.file('mixed/node_modules/other/theirs.yaml'), agent('theirs', 'x'));
    const { code, stderr } = await setup.svc(['apply', '-f', setup.file('mixed'), '--yes']);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^skipped, not manifests: \S+compose\.yml, \S+svc\.yaml$/m);
    assert.equal((await setup.svc(['agent', 'show', 'theirs'])).code, 1);
    const named = await setup.svc(['apply', '-f', setup.file('mixed/compose.yml')]);
    assert.match(named.stderr, /compose\.yml:1:1: kind: required/);
    await writeFile(setup.file('mixed/slip.yaml'), agent('slip', 'x').replace('kind: Agent', 'kind: Agnt'));
    assert.match((await setup.svc(['apply', '-f', setup.file('mixed')])).stderr, /slip\.yaml:2:1: kind: expected/);
  });

  test('svc login saves a node that is reached, in a file that others cannot read, and commands use it', async () => {
    const env = { SVC_CONTEXTS: contexts };
    const away = await svc(['login', 'away', '--url', 'http://127.0.0.1:9'], env);
    assert.equal(away.code, 5);
    const done = await svc(['login', 'mine', '--url', setup.url, '--key', '-'], env, 'a-token\n');
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^context mine: .* in tenant svc-system at http/);
    assert.equal((await stat(contexts)).mode & 0o777, 0o600);
    assert.match((await svc(['agent', 'list'], env)).stdout, /^echo /m);
    assert.match((await svc(['context', 'list'], env)).stdout, /^\* +mine +http\S+ +- +true$/m);
    // The token of a context is for its node alone.
    assert.equal((await svc(['agent', 'list', '--url', 'http://127.0.0.1:9'], env)).code, 5);
    assert.match(
      (await svc(['agent', 'list'], { ...env, SVC_CONTEXT: 'other' })).stderr,
      /no context other \(there is: mine\)/,
    );
    assert.equal((await svc(['logout'], env)).code, 0);
    assert.doesNotMatch(await readFile(contexts, 'utf8'), /a-token/);
    assert.equal((await svc(['context', 'remove', 'mine'], env)).code, 0);
    assert.equal((await svc(['context', 'use', 'mine'], env)).code, 2);
  });
});

test('one delivery is singular, none and several are plural', () => {
  const texts = [0, 1, 2].map((count) => counted(count, 'delivery', 'deliveries'));
  assert.deepEqual(texts, ['0 deliveries', '1 delivery', '2 deliveries']);
});

test('widths are those of a terminal: letters of two columns, emoji, combining marks', () => {
  assert.deepEqual(
    ['abc', '日本語', '👩‍💻', '🫠', 'e\u0301', '\u001b[31mred\u001b[39m'].map(widthOf),
    [3, 6, 2, 2, 1, 3],
  );
  assert.deepEqual([padded('日本', 6), cutTo('日本語テキスト', 7), cutTo('plain', 5)], ['日本  ', '日本語…', 'plain']);
  const rows = [
    { name: '日本', status: 'completed' },
    { name: 'ascii', status: 'failed' },
  ];
  const lines = table(rows, ['name', 'status']).split('\n');
  assert.deepEqual(lines, ['NAME   STATUS', '日本   completed', 'ascii  failed']);
  const narrow = table([{ id: 'x', note: 'テ'.repeat(60) }], ['id', 'note'], { isTTY: true, columns: 20 }).split('\n');
  assert.ok(narrow.every((line) => widthOf(line) <= 20));
});

test('a terminal gets colours for statuses, and a pipe none', () => {
  const rows = [{ status: 'failed', name: join('a', 'b') }];
  const env = process.env.NO_COLOR;
  delete process.env.NO_COLOR;
  try {
    assert.ok(table(rows, ['status', 'name'], { isTTY: true, columns: 80 }).includes('\u001b[31mfailed'));
    assert.ok(!table(rows, ['status', 'name'], { isTTY: false }).includes('\u001b'));
  } finally {
    if (env !== undefined) process.env.NO_COLOR = env;
  }
});
