import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import type { AgentManifest } from '../../manifests/agent/schema.ts';

const METADATA = { name: 'a', version: '1.0.0' };
const text = (spec: unknown, metadata: unknown = METADATA) =>
  stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata, spec });

function accepted(spec: unknown, metadata: unknown = METADATA): AgentManifest {
  const parsed = parseAgentManifest(text(spec, metadata));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.manifest;
}

/** Problems as `path: message`. */
function problems(spec: unknown, metadata: unknown = METADATA): string[] {
  const parsed = parseAgentManifest(text(spec, metadata));
  assert.ok(!parsed.ok, 'expected problems');
  for (const { line, column } of parsed.problems) assert.ok(line > 0 && column > 0);
  return parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}

const volume = {
  name: 'v',
  storage_class: 'ephemeral',
  ttl_hours: 1,
  mount_path: '/workspace/v',
  access_mode: 'read-only',
};
const cmd = { name: 'cmd.run', executor: 'builtin:cmd' };

/** Every rule: what is written under spec, and the problems that must come, in order. */
const REFUSED: readonly [title: string, spec: unknown, expected: readonly RegExp[]][] = [
  ['language without version', { runtime: { language: 'go' } }, [/^spec\.runtime\.version: language needs version/]],
  ['version without language', { runtime: { version: '1.21' } }, [/^spec\.runtime\.language: version needs language/]],
  [
    'image with language',
    { runtime: { image: 'ghcr.io/o/a:1', language: 'go', version: '1.21' } },
    [/^spec\.runtime\.language: image excludes/, /^spec\.runtime\.version: image excludes/],
  ],
  [
    'image without a slash',
    { runtime: { image: 'alpine' } },
    [/^spec\.runtime\.image: .*contains "\/".*got "alpine"$/],
  ],
  ['unknown language', { runtime: { language: 'perl', version: '5' } }, [/expected one of python, .*, got "perl"$/]],
  [
    'version as a number',
    { runtime: { language: 'python', version: 3.1 } },
    [/in quotes, such as "3\.11", got a number/],
  ],
  ['unknown isolation', { runtime: { isolation: 'vm' } }, [/^spec\.runtime\.isolation: expected one of inherit, /]],
  [
    'temperature beyond 2',
    { runtime: { temperature: 3 } },
    [/^spec\.runtime\.temperature: expected at most 2, got 3$/],
  ],
  [
    'template with more expressions than the parser takes in good time',
    { task: { prompt_template: '{{#if x}}'.repeat(28_000) } },
    [/^spec\.task\.prompt_template: expected at most 1000 template expressions$/],
  ],
  [
    'template that does not parse',
    { task: { prompt_template: '{{#if x}}' } },
    [/^spec\.task\.prompt_template: expected a Handlebars template: Parse error/],
  ],
  [
    'skill without namespace',
    { task: { agentskills: ['x'] } },
    [/^spec\.task\.agentskills\[0\]: expected namespace:skill/],
  ],
  [
    'context without its field',
    { context: [{ type: 'file' }] },
    [/^spec\.context\[0\]\.path: required: expected text$/],
  ],
  [
    'context of another type',
    { context: [{ type: 'ftp' }] },
    [/^spec\.context\[0\]\.type: expected one of text, file, /],
  ],
  [
    'context url of another protocol',
    { context: [{ type: 'url', url: 'file:///etc' }] },
    [/^spec\.context\[0\]\.url: /],
  ],
  ['zero iterations', { execution: { max_iterations: 0 } }, [/max_iterations: expected at least 1, got 0$/]],
  ['21 iterations', { execution: { max_iterations: 21 } }, [/max_iterations: expected at most 20, got 21$/]],
  [
    'half an iteration',
    { execution: { max_iterations: 1.5 } },
    [/max_iterations: expected a whole number, got a number$/],
  ],
  ['both names of a field', { execution: { max_iterations: 2, max_retries: 2 } }, [/^spec\.execution\.max_retries: /]],
  [
    'duration without unit',
    { execution: { iteration_timeout: 300 } },
    [/iteration_timeout: expected a duration such as 300s/],
  ],
  [
    'duration of zero',
    { execution: { iteration_timeout: '0s' } },
    [/iteration_timeout: expected a duration .*, got "0s"$/],
  ],
  [
    'duration over an hour',
    { security: { resources: { timeout: '61m' } } },
    [/timeout: expected .*at most 1h.*, got "61m"$/],
  ],
  ['unknown mode', { execution: { mode: 'loop' } }, [/mode: expected one of one-shot, iterative, got "loop"$/]],
  [
    'validation as text',
    { execution: { validation: 'exit_code' } },
    [/^spec\.execution\.validation: expected another type, got text$/],
  ],
  [
    'validator of another type',
    { execution: { validation: [{ type: 'x' }] } },
    [/validation\[0\]\.type: expected one of exit_code, .*got "x"/],
  ],
  [
    'unknown key of a validator',
    { execution: { validation: [{ type: 'exit_code', x: 1 }] } },
    [/validation\[0\]\.x: unknown key "x"$/],
  ],
  [
    'json_schema without schema',
    { execution: { validation: [{ type: 'json_schema' }] } },
    [/exactly one of schema and schema_path/],
  ],
  [
    'something that is no JSON Schema',
    { execution: { validation: { output: { schema: { type: 'objekt' } } } } },
    [/^spec\.execution\.validation\.output\.schema: expected a JSON Schema: \/type/],
  ],
  [
    'JSON Schema with a remote reference',
    { execution: { validation: { output: { schema: { $ref: 'http://x/y' } } } } },
    [/\$ref must stay inside the schema/],
  ],
  [
    'JSON Schema with a look-ahead',
    { execution: { validation: { output: { schema: { pattern: '(?=a)' } } } } },
    [/pattern is not RE2 syntax/],
  ],
  [
    'look-ahead',
    { execution: { validation: [{ type: 'regex', pattern: '(?=a)' }] } },
    [/validation\[0\]\.pattern: expected a regular expression of RE2/],
  ],
  [
    'back reference in the object form',
    { execution: { validation: { output: { regex: '(a)\\1' } } } },
    [/^spec\.execution\.validation\.output\.regex: expected a regular expression/],
  ],
  [
    'pattern that does not parse',
    { execution: { validation: [{ type: 'regex', pattern: '(' }] } },
    [/missing closing \)/],
  ],
  [
    'more judges needed than there are',
    { execution: { validation: [{ type: 'multi_judge', judges: ['j'], min_judges_required: 2 }] } },
    [/min_judges_required: expected at most 1/],
  ],
  [
    'score beyond 1',
    { execution: { validation: [{ type: 'semantic', judge_agent: 'j', min_score: 1.1 }] } },
    [/min_score: expected at most 1, got 1\.1$/],
  ],
  [
    'exit_code as a tool validator',
    { execution: { tool_validation: [{ type: 'exit_code' }] } },
    [/tool_validation\[0\]\.type: expected one of semantic, multi_judge/],
  ],
  [
    'unknown block of the object form',
    { execution: { validation: { outputs: {} } } },
    [/^spec\.execution\.validation\.outputs: unknown key "outputs"; did you mean "output"\?$/],
  ],
  ['tag with a space', { execution: { target_tags: ['a b'] } }, [/target_tags\[0\]: expected a tag/]],
  [
    'unknown network mode',
    { security: { network: { mode: 'open' } } },
    [/network\.mode: expected one of allow, deny, none, got "open"$/],
  ],
  [
    'network target with a path',
    { security: { network: { allowlist: ['a.com/x'] } } },
    [/allowlist\[0\]: expected a domain .*, got "a\.com\/x"$/],
  ],
  [
    'CIDR beyond its bits',
    { security: { network: { denylist: ['10.0.0.0/33'] } } },
    [/denylist\[0\]: expected a domain/],
  ],
  [
    'allowlist without network',
    { security: { network: { mode: 'none', allowlist: ['a.com'] } } },
    [/allowlist: mode none has no network/],
  ],
  [
    'relative glob',
    { security: { filesystem: { read: ['src/**'] } } },
    [/filesystem\.read\[0\]: expected an absolute path pattern/],
  ],
  [
    'glob that climbs',
    { security: { filesystem: { write: ['/workspace/../etc'] } } },
    [/filesystem\.write\[0\]: expected a path without "\.\."/],
  ],
  [
    'writing on read-only',
    { security: { filesystem: { read_only: true, write: ['/workspace'] } } },
    [/filesystem\.write: read_only is true/],
  ],
  [
    'memory in words',
    { security: { resources: { memory: 'much' } } },
    [/memory: expected a size such as 512Mi .*, got "much"$/],
  ],
  ['memory too small', { security: { resources: { memory: '1Ki' } } }, [/memory: expected a size .*from 4Mi/]],
  ['cpu of zero', { security: { resources: { cpu: 0 } } }, [/cpu: expected millicores from 10/]],
  ['cpu as a fraction', { security: { resources: { cpu: 0.5 } } }, [/cpu: expected millicores .*, got "0\.5"$/]],
  ['tool name with a space', { tools: ['fs read'] }, [/^spec\.tools\[0\]: expected a tool name .*, got "fs read"$/]],
  [
    'tool with server and executor',
    { tools: [{ ...cmd, server: 'mcp:x', config: { subcommand_allowlist: {} } }] },
    [/executor: server excludes executor/],
  ],
  [
    'builtin:cmd without allowlist',
    { tools: [cmd] },
    [/^spec\.tools\[0\]\.config\.subcommand_allowlist: required: expected a map$/],
  ],
  [
    'unknown key of builtin:cmd',
    { tools: [{ ...cmd, config: { subcommand_allowlist: {}, x: 1 } }] },
    [/^spec\.tools\[0\]\.config\.x: unknown key "x"$/],
  ],
  [
    'environment name with a dash',
    { env: { 'A-B': 'x' } },
    [/^spec\.env\.A-B: expected an environment variable name, got "A-B"$/],
  ],
  [
    'environment name of the node',
    { env: { SVC_EXECUTION_ID: 'x' } },
    [/^spec\.env\.SVC_EXECUTION_ID: names that start with SVC_/],
  ],
  [
    'environment value that is a list',
    { env: { A: [1] } },
    [/^spec\.env\.A: expected text, a number or a boolean, got a list$/],
  ],
  ['secret without name', { env: { A: 'secret:' } }, [/^spec\.env\.A: expected a name after secret:/]],
  [
    'ephemeral volume without ttl',
    { volumes: [{ ...volume, ttl_hours: undefined }] },
    [/^spec\.volumes\[0\]\.ttl_hours: required for storage_class ephemeral/],
  ],
  [
    'persistent volume without source',
    { volumes: [{ ...volume, storage_class: 'persistent' }] },
    [/^spec\.volumes\[0\]\.source: required for storage_class persistent/],
  ],
  [
    'volume outside /workspace',
    { volumes: [{ ...volume, mount_path: '/workspaces' }] },
    [/^spec\.volumes\[0\]\.mount_path: expected \/workspace or a path under it/],
  ],
  [
    'volume path that climbs',
    { volumes: [{ ...volume, mount_path: '/workspace/../etc' }] },
    [/^spec\.volumes\[0\]\.mount_path: expected no "\." or "\.\."/],
  ],
  [
    'opendal volume without provider',
    { volumes: [{ ...volume, type: 'opendal' }] },
    [/^spec\.volumes\[0\]\.provider: required for type opendal/],
  ],
  [
    'overlapping volumes of one name',
    { volumes: [volume, { ...volume, mount_path: '/workspace/v/sub' }] },
    [
      /^spec\.volumes\[1\]\.name: already the name of volumes\[0\]/,
      /^spec\.volumes\[1\]\.mount_path: overlaps mount_path \/workspace\/v of volumes\[0\]/,
    ],
  ],
  [
    'cron of three fields',
    { schedule: { type: 'cron', cron: '* * *' } },
    [/^spec\.schedule\.cron: expected five or six cron fields/],
  ],
  [
    'unknown time zone',
    { schedule: { type: 'cron', cron: '* * * * *', timezone: 'Mars' } },
    [/^spec\.schedule\.timezone: expected a time zone/],
  ],
  [
    'interval without seconds',
    { schedule: { type: 'interval' } },
    [/^spec\.schedule\.seconds: required: expected a number$/],
  ],
  [
    'unknown kind of destination',
    { delivery: { destinations: [{ name: 'd', type: 'fax' }] } },
    [/destinations\[0\]\.type: expected one of email, webhook, rest, sms, got "fax"$/],
  ],
  [
    'empty bootstrap path',
    { advanced: { bootstrap_path: '' } },
    [/^spec\.advanced\.bootstrap_path: expected at least 1 character, got 0 characters$/],
  ],
  ['unknown block', { executon: {} }, [/^spec\.executon: unknown key "executon"; did you mean "execution"\?$/]],
  ['block that is empty', { execution: null }, [/^spec\.execution: expected a map, got nothing$/]],
];

describe('an agent manifest is refused for', () => {
  for (const [title, spec, expected] of REFUSED)
    it(title, () => {
      const found = problems(spec);
      assert.equal(found.length, expected.length, found.join('\n'));
      for (const [index, pattern] of expected.entries()) assert.match(found[index] ?? '', pattern);
    });

  for (const name of ['', 'A', '-a', 'a_b', 'a'.repeat(64)])
    it(`the name ${JSON.stringify(name.slice(0, 8))}`, () => {
      assert.match(problems({}, { ...METADATA, name })[0] ?? '', /^metadata\.name: expected 1 to 63 lower-case/);
    });

  for (const version of ['1', '1.0', 'v1.0.0', '01.0.0', '1.0.0-', 'latest'])
    it(`the version ${version}`, () => {
      assert.match(problems({}, { ...METADATA, version })[0] ?? '', /^metadata\.version: expected/);
    });

  it('another apiVersion or kind, named with what was expected', () => {
    const parsed = parseAgentManifest(
      'apiVersion: v2\nkind: Workflow\nmetadata: {name: a, version: 1.0.0}\nspec: {}\n',
    );
    assert.ok(!parsed.ok);
    assert.deepEqual(
      parsed.problems.map(({ path, line, message }) => [path, line, message]),
      [
        ['apiVersion', 1, 'expected "svc.dev/v1", got "v2"'],
        ['kind', 2, 'expected "Agent", got "Workflow"'],
      ],
    );
  });

  it('all its faults at once', () => {
    const spec = { execution: { max_iterations: 0 }, env: { 'A-B': 1 }, tools: ['a b'], nope: 1 };
    assert.equal(problems(spec, { name: 'A', version: '1' }).length, 6);
  });

  it('a secret in the wrong place, without showing it', () => {
    for (const spec of [{ env: { A: ['hunter2'] } }, { env: 'hunter2' }, { execution: { memory: 'hunter2' } }])
      assert.ok(!problems(spec).join().includes('hunter2'));
  });
});

describe('an agent manifest is normalised:', () => {
  it('defaults are those of the specification', () => {
    const { spec } = accepted({});
    assert.deepEqual(spec.execution, {
      mode: 'iterative',
      max_iterations: 10,
      iteration_timeout_ms: 300_000,
      llm_timeout_seconds: 300,
      memory: false,
      validation: [],
      tool_validation: [],
      target_tags: [],
    });
    assert.deepEqual(spec.runtime, { image_pull_policy: 'IfNotPresent', isolation: 'inherit', model: 'default' });
    assert.deepEqual(spec.security.network, { mode: 'deny', allowlist: [], denylist: [] });
    const resources = { cpu_millicores: 1_000, memory_bytes: 2 ** 29, disk_bytes: 2 ** 30, timeout_ms: 1_800_000 };
    assert.deepEqual(spec.security.resources, resources);
  });

  it('durations become milliseconds, sizes bytes', () => {
    const resources = { cpu: '250m', memory: '1.5Gi', disk: 5_000_000, timeout: '59m30s' };
    const { spec } = accepted({ execution: { iteration_timeout: '1500ms' }, security: { resources } });
    assert.equal(spec.execution.iteration_timeout_ms, 1_500);
    const expected = { cpu_millicores: 250, memory_bytes: 1_610_612_736, disk_bytes: 5_000_000, timeout_ms: 3_570_000 };
    assert.deepEqual(spec.security.resources, expected);
  });

  it('one-shot is one iteration, max_retries an older name', () => {
    assert.equal(accepted({ execution: { mode: 'one-shot', max_iterations: 5 } }).spec.execution.max_iterations, 1);
    assert.equal(accepted({ execution: { max_retries: 3 } }).spec.execution.max_iterations, 3);
  });

  it('the list form of validation keeps its order and gets its defaults', () => {
    const validation = [
      { type: 'regex', pattern: 'ok' },
      { type: 'exit_code' },
      { type: 'semantic', judge_agent: 'judge' },
      { type: 'multi_judge', judges: ['a', 'b'] },
      { type: 'json_schema', schema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' } },
    ];
    assert.deepEqual(accepted({ execution: { validation } }).spec.execution.validation, [
      { type: 'regex', pattern: 'ok', target: 'stdout', min_score: 1 },
      { type: 'exit_code', expected: 0, min_score: 1 },
      { type: 'semantic', judge_agent: 'judge', criteria: '', min_score: 0.7, min_confidence: 0, timeout_seconds: 300 },
      {
        type: 'multi_judge',
        judges: ['a', 'b'],
        consensus: 'weighted_average',
        min_judges_required: 1,
        criteria: '',
        min_score: 0.7,
        min_confidence: 0,
        timeout_seconds: 300,
      },
      { ...validation[4], min_score: 1 },
    ]);
  });

  it('the object form of validation becomes the same list, cheap checks first', () => {
    const validation = {
      semantic: { prompt: 'judge {{output}}' },
      script: { path: 'check.sh' },
      output: { regex: 'ok', schema: { type: 'object' }, format: 'json' },
      system: { must_succeed: true },
    };
    const { spec } = accepted({ task: { instruction: 'do it' }, execution: { validation } });
    assert.deepEqual(spec.execution.validation, [
      { type: 'exit_code', expected: 0, min_score: 1 },
      { type: 'stderr_empty', min_score: 1 },
      { type: 'output_format', format: 'json', min_score: 1 },
      { type: 'json_schema', schema: { type: 'object' }, min_score: 1 },
      { type: 'regex', pattern: 'ok', target: 'stdout', min_score: 1 },
      { type: 'script', path: 'check.sh', timeout_seconds: 30, min_score: 1 },
      {
        type: 'semantic_prompt',
        model: 'default',
        prompt: 'judge {{output}}',
        min_score: 0.8,
        timeout_seconds: 30,
        fallback_on_unavailable: 'fail',
      },
    ]);
  });

  it('a semantic block without instruction is off unless enabled', () => {
    const types = (semantic: unknown) =>
      accepted({ execution: { validation: { semantic } } }).spec.execution.validation.map(({ type }) => type);
    assert.deepEqual(types({}), ['exit_code']);
    assert.deepEqual(types({ enabled: true }), ['exit_code', 'semantic_prompt']);
  });

  it('must_succeed false and allow_stderr true check nothing', () => {
    const validation = { system: { must_succeed: false, allow_stderr: true } };
    assert.deepEqual(accepted({ execution: { validation } }).spec.execution.validation, []);
  });

  it('tools in all three forms become objects', () => {
    const config = { subcommand_allowlist: { git: ['status'], ls: [] } };
    assert.deepEqual(accepted({ tools: ['fs.*', 'mcp:gmail', { ...cmd, config }] }).spec.tools, [
      { name: 'fs.*', config: {} },
      { name: 'gmail', server: 'mcp:gmail', config: {} },
      {
        ...cmd,
        config: { ...config, env_var_denylist: [], timeout_ceiling_secs: 300, max_output_bytes: 524_288 },
      },
    ]);
  });

  it('environment values become text and references stay references', () => {
    const { spec } = accepted({ env: { PORT: 8080, DEBUG: true, KEY: 'secret:team/key' } });
    assert.deepEqual(spec.env, { PORT: '8080', DEBUG: 'true', KEY: 'secret:team/key' });
  });

  it('volume sizes become bytes, and neighbours do not overlap', () => {
    const { volumes } = accepted({
      volumes: [
        { ...volume, size_limit: '5Gi' },
        { ...volume, name: 'w', mount_path: '/workspace/vv' },
      ],
    }).spec;
    assert.deepEqual(
      volumes.map((one) => [one.name, one.size_limit_bytes, one.type]),
      [
        ['v', 5 * 2 ** 30, 'seaweedfs'],
        ['w', undefined, 'seaweedfs'],
      ],
    );
  });
});
