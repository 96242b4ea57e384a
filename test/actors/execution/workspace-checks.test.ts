import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { executionActor } from '../../../actors/execution/definition.ts';
import { FilesRequest, ScriptRequest } from '../../../manifests/agent/workspace-checks.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { needsOf } from '../../../usecases/waits/execution-wait.ts';
import { Bootstrapped, DOCKER, PROGRAM } from './bootstrapped.ts';
import { type DrivenExecution, EXECUTION_ID } from './driven-execution.ts';
import { CRITIC, DIGITS, JudgedExecution, judgedBy, started } from './judged.ts';
import { policy } from './tooled.ts';

const REPORT: JsonObject = { type: 'regex', pattern: '^# ', target: 'report.md' };
const SCRIPT: JsonObject = { script: { path: 'check.sh', timeout_seconds: 20 } };
const OBJECT: JsonObject = { type: 'object', required: ['total'] };

const asked = (e: DrivenExecution, kind: string) =>
  e.turns.flatMap(({ effects }) => effects.filter(({ request }) => request.kind === kind));

function request(e: DrivenExecution, kind: string) {
  const last = asked(e, kind).at(-1);
  assert.ok(last !== undefined, `${kind} was asked for`);
  return last.request;
}

const settle = (e: JudgedExecution, type: 'FilesRead' | 'ScriptEnded', outcome: Json, effectId = e.effectId) =>
  e.send(type, { effectId, kind: 'any', attempt: 1, outcome }, 'effect');
const read = (e: JudgedExecution, ...texts: readonly string[]) =>
  settle(e, 'FilesRead', { kind: 'done', value: { files: texts.map((text) => ({ status: 'read', text })) } });
const unreadable = (e: JudgedExecution, reason: string) =>
  settle(e, 'FilesRead', { kind: 'done', value: { files: [{ status: 'unreadable', reason }] } });
const exits = (e: JudgedExecution, exit_code: number, output = '', more: JsonObject = {}) =>
  settle(e, 'ScriptEnded', {
    kind: 'done',
    value: { status: 'ended', exit_code, output, timeout_ms: 20_000, ...more },
  });

/** What an execution whose first iteration was answered with `output` says of its end, and the next prompt. */
function answered(validation: Json, output = '7'): JudgedExecution {
  const e = started(validation);
  e.answer(output);
  return e;
}

const reasonOf = (e: JudgedExecution): string => {
  const [failed] = e.payloads('iteration_failed');
  const { error } = failed ?? {};
  assert.ok(error !== null && typeof error === 'object' && !Array.isArray(error), JSON.stringify(e.names));
  return `${error.error_type}: ${error.message}`;
};

describe('validators of files in the workspace', () => {
  test('the files are read once an iteration, under the rules of the agent whatever its tools, and the execution waits', () => {
    const e = answered([REPORT]);
    const { mode, input } = request(e, 'files.read');
    const { files, grant, subject } = FilesRequest.parse(input);
    assert.equal(mode, 'repeatable');
    assert.deepEqual(
      files.map(({ path }) => path),
      ['/workspace/report.md'],
    );
    assert.equal(grant.manifest, null);
    assert.deepEqual(
      [subject.execution_id, subject.mounts.map(({ volume_id, mount_path }) => [volume_id, mount_path])],
      [EXECUTION_ID, [[EXECUTION_ID, '/workspace']]],
    );
    assert.deepEqual(e.names, ['execution_started', 'iteration_started']);
    assert.ok(e.view.status === 'running');
    const { place, effects } = needsOf(e.view);
    assert.equal(`${place} waits for its ${effects.what}`, 'iteration 1 waits for its validator, which reads files');
    read(e, '# Report');
    assert.equal(e.view.status, 'completed');
    assert.equal(asked(e, 'files.read').length, 1);
  });

  test('a file that does not match rejects the output, and the next prompt contains the reason', () => {
    const e = answered([REPORT]);
    read(e, 'Report');
    assert.equal(
      reasonOf(e),
      'validation_failed: regex (/workspace/report.md): /workspace/report.md does not match ^# ',
    );
    assert.match(e.prompt, /\/workspace\/report\.md does not match \^# /);
    e.answer('8');
    read(e, '# Report');
    assert.equal(e.view.status, 'completed');
  });

  test('a missing file rejects the output with a reason for the model and does not fail the run', () => {
    const e = answered([REPORT]);
    unreadable(e, '/workspace/report.md does not exist');
    assert.equal(reasonOf(e), 'validation_failed: regex (/workspace/report.md): /workspace/report.md does not exist');
    assert.match(e.prompt, /\/workspace\/report\.md does not exist/);
    assert.ok(e.view.status === 'running' && e.view.iteration_count === 2);
    const [attempt] = e.view.attempts;
    assert.deepEqual(
      [attempt?.output, attempt?.verdicts.map(({ validator, passed }) => [validator, passed])],
      ['7', [['regex (/workspace/report.md)', false]]],
    );
  });

  test('json_schema takes the schema, the object or both from files, and names what is wrong with either', () => {
    const schema = JSON.stringify(OBJECT);
    const both = { type: 'json_schema', schema_path: 's.json', target_path: 'o.json' };
    const ROWS: readonly (readonly [validator: JsonObject, output: string, texts: string[], reason: RegExp | null])[] =
      [
        [{ type: 'json_schema', schema_path: 's.json' }, '{"total": 1}', [schema], null],
        [{ type: 'json_schema', schema_path: 's.json' }, '```json\n{"total": 1}\n```', [schema], null],
        [
          { type: 'json_schema', schema_path: 's.json' },
          '{}',
          [schema],
          /: the output does not fit the schema: .*total/,
        ],
        [{ type: 'json_schema', schema: OBJECT, target_path: 'o.json' }, 'done', ['{"total": 1}'], null],
        [
          { type: 'json_schema', schema: OBJECT, target_path: 'o.json' },
          '{"total": 1}',
          ['{}'],
          /json_schema \(\/workspace\/o\.json\): \/workspace\/o\.json does not fit the schema: .*total/,
        ],
        [both, 'done', [schema, '{"total": 1}'], null],
        [both, 'done', [schema, '[]'], /\/workspace\/o\.json does not fit the schema/],
        [both, 'done', [schema, 'total'], /\/workspace\/o\.json: expected JSON/],
        [both, 'done', [schema, ''], /expected JSON, got an empty \/workspace\/o\.json/],
        [both, 'done', ['[]', '{}'], /\/workspace\/s\.json: expected a JSON Schema, which is an object/],
        [both, 'done', ['{"type": 7}', '{}'], /\/workspace\/s\.json: expected a JSON Schema: /],
        [
          both,
          'done',
          ['{"pattern": "(?=a)"}', '{}'],
          /\/workspace\/s\.json: expected a JSON Schema: pattern is not RE2/,
        ],
        [both, 'done', ['{"$ref": "https://a.example/s"}', '{}'], /\$ref must stay inside the schema/],
        [both, 'done', [JSON.stringify({ enum: Array(1_500).fill(1) }), '{}'], /a JSON Schema of at most 1500 values/],
        [both, 'done', ['{"$ref": "#/$defs/none"}', '{}'], /\/workspace\/s\.json: expected a JSON Schema: /],
      ];
    for (const [validator, output, texts, reason] of ROWS) {
      const e = answered([validator], output);
      read(e, ...texts);
      if (reason === null) assert.equal(e.view.status, 'completed', JSON.stringify([validator, e.view]));
      else assert.match(reasonOf(e), reason);
    }
    const e = answered([both]);
    assert.deepEqual(
      FilesRequest.parse(request(e, 'files.read').input).files.map(({ path, max_bytes }) => [path, max_bytes]),
      [
        ['/workspace/s.json', 65_536],
        ['/workspace/o.json', 1_048_576],
      ],
    );
  });
});

describe('a validator script', () => {
  test('the script is started with the output, as the only command that its grant allows, in the isolation of the agent', () => {
    const e = answered(SCRIPT);
    const { mode, input } = request(e, 'script.run');
    const { path, input: given, timeout_ms, grant } = ScriptRequest.parse(input);
    assert.deepEqual([mode, path, given, timeout_ms], ['repeatable', '/workspace/check.sh', '7', 20_000]);
    assert.deepEqual(grant.manifest, [
      {
        name: 'cmd.run',
        executor: 'builtin:cmd',
        config: { timeout_ceiling_secs: 20, subcommand_allowlist: { '/workspace/check.sh': [] } },
      },
    ]);
    assert.ok(e.view.status === 'running');
    const { place, effects } = needsOf(e.view);
    assert.equal(`${place} waits for its ${effects.what}`, 'iteration 1 waits for its validator, which runs a script');
    exits(e, 0);
    assert.equal(e.view.status, 'completed');
  });

  test('the script of an agent in a container runs in a container of the same image, with its limits and rules', () => {
    const security = { filesystem: { read_only: true }, resources: { memory: '64Mi' } };
    const e = Bootstrapped.of({ ...DOCKER, security, execution: { max_iterations: 2, validation: SCRIPT } });
    e.generate();
    e.granted();
    e.says('done');
    e.prints('done');
    const { input } = request(e, 'script.container');
    assert.deepEqual(JSON.parse(JSON.stringify(input.container)), {
      ...{ image: 'ghcr.io/acme/agent:1', language: null, version: null },
      ...{ image_pull_policy: 'IfNotPresent', network: 'none', read_only: true },
      limits: { memory_bytes: 67_108_864, cpu_millicores: 1_000, disk_bytes: 1_073_741_824 },
    });
    assert.equal(asked(e, 'script.run').length, 0);
    assert.match(JSON.stringify(input.container), /^(?!.*SVC_)/);
  });

  test('the grant of a script excludes other commands of the manifest and keeps its other settings of commands', () => {
    const config = { subcommand_allowlist: { sh: [] }, env_var_denylist: ['LANG'], timeout_ceiling_secs: 5 };
    const e = Bootstrapped.of({
      tools: ['fs.*', { name: 'cmd.run', executor: 'builtin:cmd', config }],
      execution: { validation: SCRIPT },
    });
    e.granted();
    e.says('done');
    const [entry, ...more] = ScriptRequest.parse(request(e, 'script.run').input).grant.manifest ?? [];
    assert.deepEqual([entry?.config.env_var_denylist, entry?.config.timeout_ceiling_secs, more], [['LANG'], 20, []]);
    assert.deepEqual(entry?.config.subcommand_allowlist, { '/workspace/check.sh': [] });
  });

  test('an exit code other than 0 rejects the output, with the end of what the script wrote', () => {
    const e = answered(SCRIPT);
    exits(e, 3, 'seven is not enough');
    assert.equal(reasonOf(e), 'validation_failed: script (/workspace/check.sh): exit code 3: seven is not enough');
    assert.match(e.prompt, /exit code 3: seven is not enough/);
    e.answer('8');
    exits(e, 1, `${'x'.repeat(8_000)} the end`);
    const last = e.payloads('iteration_failed').at(-1);
    assert.match(JSON.stringify(last), /exit code 1: \[cut: \d+ characters before\].*x the end"/);
    assert.ok(JSON.stringify(last).length < 2_500);
  });

  test('a script that runs too long, exceeds a limit or cannot be started rejects the output with that reason', () => {
    const ROWS = [
      [
        { status: 'not_started', reason: '/workspace/check.sh does not exist' },
        /check\.sh\): \/workspace\/check\.sh does not/,
      ],
      [
        { status: 'ended', exit_code: 143, output: '', timeout_ms: 20_000, stopped_by: 'timeout' },
        /longer than 20 s and was/,
      ],
      [
        { status: 'ended', exit_code: 137, output: 'm', timeout_ms: 1, stopped_by: 'memory' },
        /at its limit of memory: m/,
      ],
      [{ status: 'ended', exit_code: 0, output: '', timeout_ms: 1, stopped_by: 'output' }, /at its limit of output/],
      ['nonsense', /the result of the validator is malformed/],
    ] as const;
    for (const [value, reason] of ROWS) {
      const e = answered(SCRIPT);
      settle(e, 'ScriptEnded', { kind: 'done', value });
      assert.match(reasonOf(e), reason);
      assert.ok(e.view.status === 'running' && e.view.iteration_count === 2);
    }
  });

  test('a program writes into the same workspace that its validators read', () => {
    const e = new JudgedExecution();
    const agent = judgedBy([REPORT]);
    e.start({ ...agent, spec: { ...agent.spec, ...judgedProgram(agent) } });
    assert.match(
      JSON.stringify(request(e, 'program.run').input.mounts),
      /"mount_path":"\/workspace".*"create":true|"create":true.*"mount_path":"\/workspace"/,
    );
  });
});

const judgedProgram = ({ spec }: ReturnType<typeof judgedBy>) => ({
  advanced: { ...spec.advanced, ...PROGRAM.advanced },
  runtime: { ...spec.runtime, isolation: 'process' as const },
});

describe('validators in order', () => {
  test('no file is read for an output that an earlier validator rejects, and no judge is asked about one that a file check rejects', () => {
    const e = answered([DIGITS, REPORT, CRITIC], 'seven');
    assert.equal(asked(e, 'files.read').length, 0);
    e.answer('7');
    assert.equal(e.panels.length, 0);
    unreadable(e, '/workspace/report.md does not exist');
    assert.equal(e.panels.length, 0);
    e.answer('8');
    read(e, '# Report');
    assert.equal(e.panels.length, 1);
    e.verdict({ score: 0.9 });
    assert.equal(e.view.status, 'completed');
  });

  test('a failure that no further iteration can fix fails the run at once with its own error code', () => {
    const ROWS: readonly (readonly [validation: Json, type: 'FilesRead' | 'ScriptEnded', name: string])[] = [
      [[REPORT], 'FilesRead', 'regex (/workspace/report.md)'],
      [SCRIPT, 'ScriptEnded', 'script (/workspace/check.sh)'],
    ];
    for (const [validation, type, name] of ROWS)
      for (const code of ['forbidden', 'unsupported_isolation']) {
        const e = answered(validation);
        settle(e, type, { kind: 'failed', code, message: 'no' });
        const [failed] = e.payloads('execution_failed');
        assert.deepEqual([failed?.reason, failed?.total_iterations, failed?.message], [code, 1, `${name}: no`]);
      }
  });

  test('any other failure of the effect rejects the output', () => {
    const e = answered(SCRIPT);
    settle(e, 'ScriptEnded', { kind: 'failed', code: 'container_failed', message: 'no place' });
    assert.match(reasonOf(e), /^validation_failed: script .*it could not be run: container_failed: no place$/);
    e.answer('8');
    settle(e, 'ScriptEnded', { kind: 'in_doubt' });
    assert.equal(e.view.status, 'running');
  });

  test('a cancel and the timeouts of the iteration and of the run stop the effect, and its late result is ignored', () => {
    for (const validation of [[REPORT], SCRIPT]) {
      const cancelled = answered(validation);
      assert.equal(cancelled.send('Cancel', {}).cancelled.length, 1);
      assert.equal(cancelled.view.status, 'cancelled');
      const late = answered(validation);
      const { effectId } = late;
      assert.deepEqual(late.fire('iteration').cancelled, [effectId]);
      assert.match(
        reasonOf(late),
        /iteration_timed_out: .* its validator (script|of files) included, which had not ended/,
      );
      const state = JSON.stringify(late.state);
      settle(late, 'FilesRead', { kind: 'done', value: { files: [{ status: 'read', text: '# x' }] } }, effectId);
      settle(late, 'ScriptEnded', { kind: 'failed', code: 'forbidden', message: 'no' }, effectId);
      assert.equal(JSON.stringify(late.state), state);
      const over = answered(validation);
      assert.equal(over.fire('execution').cancelled.length, 1);
      assert.equal(over.payloads('execution_failed')[0]?.reason, 'timed_out');
    }
  });

  test('a state of version 8 opens unchanged under version 9', () => {
    const definition = executionActor({ policy });
    assert.equal(definition.version, 9);
    const { state } = answered([CRITIC]);
    const opened: unknown = definition.migrate?.(JSON.parse(JSON.stringify(state)), 8);
    assert.deepEqual(opened, JSON.parse(JSON.stringify(state)));
  });
});
