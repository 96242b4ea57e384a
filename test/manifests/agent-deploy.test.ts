import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { agentFindings, parseDeployableAgent } from '../../manifests/agent/parse.ts';

const agentOf = (spec: object): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name: 'a', version: '1.0.0' },
    spec: { task: { instruction: 'x' }, ...spec },
  });

const VOLUME_ID = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a99';

const AT = { name: 'a', mount_path: '/workspace/data', access_mode: 'read-write' };

const EPHEMERAL = { ...AT, storage_class: 'ephemeral', ttl_hours: 1 };

const PERSISTENT = { ...AT, storage_class: 'persistent', source: { volume_id: VOLUME_ID } };

describe('a deploy refuses volumes that no start could have', () => {
  const LARGE = { ...EPHEMERAL, size_limit: '101Mi' };
  const many = Array.from({ length: 50 }, (_, at) => ({
    ...EPHEMERAL,
    name: `v${at}`,
    mount_path: `/workspace/v${at}`,
  }));
  const sourced = (volume_id: string): object => ({ ...PERSISTENT, source: { volume_id } });
  const CASES: readonly (readonly [what: string, volumes: readonly object[], path: string, message: RegExp])[] = [
    ['of opendal', [{ ...EPHEMERAL, type: 'opendal', provider: 's3' }], '[0].type', /type opendal is not served/],
    ['of the host', [{ ...EPHEMERAL, type: 'hostPath' }], '[0].type', /type hostPath is not served/],
    ['of a gateway', [{ ...EPHEMERAL, type: 'seal' }], '[0].type', /type seal is not served/],
    ['larger than the node allows', [LARGE], '[0].size_limit', /volumes of 100 MiB at most/],
    ['named by no UUID', [sourced('data')], '[0].source.volume_id', /expected the UUID of a persistent volume/],
    ['named by what is no template', [sourced('{{input')], '[0].source.volume_id', /expected a Handlebars template/],
    ['more than an execution can mount', many, '', /at most 49 volumes beside the workspace, got 50/],
    ['at overlapping paths', [EPHEMERAL, { ...EPHEMERAL, name: 'b' }], '[1].mount_path', /overlaps mount_path/],
    ['outside of the workspace', [{ ...EPHEMERAL, mount_path: '/data' }], '[0].mount_path', /path under it/],
  ];
  for (const [what, volumes, path, message] of CASES)
    test(what, () => {
      const parsed = parseDeployableAgent(agentOf({ volumes }), 100);
      assert.ok(!parsed.ok);
      const [problem, ...more] = parsed.problems;
      assert.deepEqual([problem?.path, more], [`spec.volumes${path}`, []]);
      assert.match(problem?.message ?? '', message);
      assert.ok((problem?.line ?? 0) > 8 && (problem?.column ?? 0) > 1, JSON.stringify(problem));
    });

  test('those that a node can have are accepted without a warning', () => {
    const volumes = [
      { ...EPHEMERAL, size_limit: '100Mi' },
      { ...sourced('{{input.volume}}'), name: 'b', mount_path: '/workspace/b' },
      { ...PERSISTENT, name: 'c', mount_path: '/workspace/c', access_mode: 'read-only' },
    ];
    const text = agentOf({ volumes });
    assert.ok(parseDeployableAgent(text, 100).ok);
    assert.deepEqual(agentFindings(text, []), []);
  });
});

describe('a deploy refuses files and scripts of validators that are not of the workspace', () => {
  const regex = (target: string): object => ({ execution: { validation: [{ type: 'regex', pattern: 'x', target }] } });
  const schema = (more: object): object => ({ execution: { validation: [{ type: 'json_schema', ...more }] } });
  const script = (path: string, isolation = 'process'): object => ({
    runtime: isolation === 'docker' ? { isolation, image: 'ghcr.io/acme/agent:1' } : { isolation },
    execution: { validation: { script: { path } } },
  });
  const AT = 'spec.execution.validation';
  const CASES: readonly (readonly [what: string, spec: object, path: string])[] = [
    ['a target of the machine', regex('/etc/passwd'), `${AT}[0].target`],
    ['a target that climbs', regex('a/../../b'), `${AT}[0].target`],
    ['the workspace itself', regex('/workspace'), `${AT}[0].target`],
    ['a name that only begins like it', regex('/workspaces/a'), `${AT}[0].target`],
    ['a directory', regex('reports/'), `${AT}[0].target`],
    ['a schema of the machine', schema({ schema_path: '/opt/s.json' }), `${AT}[0].schema_path`],
    ['an object of the machine', schema({ schema: {}, target_path: '/tmp/o.json' }), `${AT}[0].target_path`],
    ['a script of the machine', script('/usr/bin/true'), `${AT}.script.path`],
    ['a script that climbs', script('../check.sh'), `${AT}.script.path`],
    [
      'a script of the machine, where the node chooses the isolation',
      script('/bin/true', 'inherit'),
      `${AT}.script.path`,
    ],
    ['the workspace itself as a script in a container', script('/workspace', 'docker'), `${AT}.script.path`],
    ['a script that climbs in a container', script('/workspace/../bin/true', 'docker'), `${AT}.script.path`],
  ];
  for (const [what, spec, path] of CASES)
    test(what, () => {
      const parsed = parseDeployableAgent(agentOf(spec));
      assert.ok(!parsed.ok);
      const [problem, ...more] = parsed.problems;
      assert.deepEqual([problem?.path, more], [path, []]);
      assert.match(problem?.message ?? '', /^expected a file of the workspace/);
      assert.ok((problem?.line ?? 0) > 8 && (problem?.column ?? 0) > 1, JSON.stringify(problem));
    });

  test('those of the workspace, and scripts of the image of a container, are deployed without a warning', () => {
    for (const spec of [
      regex('out/report.md'),
      regex('/workspace/./out.txt'),
      schema({ schema_path: 'schema.json', target_path: '/workspace/answer.json' }),
      schema({ schema: { type: 'object' }, target_path: 'answer.json' }),
      script('check.sh'),
      script('/workspace/checks/all'),
      script('/opt/checks/all', 'docker'),
    ]) {
      assert.ok(parseDeployableAgent(agentOf(spec)).ok, JSON.stringify(spec));
      assert.deepEqual(agentFindings(agentOf(spec), []), []);
    }
  });
});

describe('a deploy refuses context that the rules of the manifest keep every start from reading', () => {
  const CASES: readonly (readonly [what: string, spec: object, path: string])[] = [
    ['a path with ..', { context: [{ type: 'file', path: 'a/../../b' }] }, 'spec.context[0].path'],
    ['a URL, with no host allowed', { context: [{ type: 'url', url: 'https://a.example' }] }, 'spec.context[0].url'],
    [
      'a URL, without a network',
      { context: [{ type: 'url', url: 'https://a.example' }], security: { network: { mode: 'none' } } },
      'spec.context[0].url',
    ],
  ];
  for (const [what, spec, path] of CASES)
    test(what, () => {
      const parsed = parseDeployableAgent(agentOf(spec));
      assert.ok(!parsed.ok);
      assert.deepEqual(
        parsed.problems.map((problem) => problem.path),
        [path],
      );
    });

  test('files, directories and URLs of an allowed host are deployed, without a warning', () => {
    const text = agentOf({
      context: [
        { type: 'file', path: 'a.txt' },
        { type: 'directory', path: '/workspace/docs' },
        { type: 'url', url: 'https://a.example' },
      ],
      security: { network: { allowlist: ['a.example'] } },
    });
    assert.ok(parseDeployableAgent(text).ok);
    assert.deepEqual(agentFindings(text, []), []);
  });
});

describe('a deploy warns by name of fields that do not do what they say', () => {
  const CASES: readonly (readonly [path: string, spec: object])[] = [
    ['spec.schedule', { schedule: { type: 'cron', cron: '0 6 * * *' } }],
    ['spec.delivery.destinations', { delivery: { destinations: [{ name: 'a', type: 'webhook' }] } }],
    ['spec.advanced.startup_script', { advanced: { startup_script: 'true' } }],
    ['spec.advanced.warm_pool_size', { advanced: { warm_pool_size: 2 } }],
    ['spec.advanced.health_check', { advanced: { health_check: { every: 1 } } }],
    ['spec.volumes[0].config', { volumes: [{ ...EPHEMERAL, config: { bucket: 'a' } }] }],
    ['spec.volumes[0].source', { volumes: [{ ...EPHEMERAL, source: { volume_id: VOLUME_ID } }] }],
    ['spec.volumes[0].ttl_hours', { volumes: [{ ...PERSISTENT, ttl_hours: 1 }] }],
    ['spec.volumes[0].size_limit', { volumes: [{ ...PERSISTENT, size_limit: '1Mi' }] }],
    ['spec.runtime.isolation', { runtime: { isolation: 'firecracker' } }],
  ];
  for (const [path, spec] of CASES)
    test(path, () => {
      const parsed = parseDeployableAgent(agentOf(spec));
      assert.ok(parsed.ok, JSON.stringify(parsed));
      const [finding, ...more] = agentFindings(agentOf(spec), []);
      assert.deepEqual([finding?.rule, finding?.severity, finding?.path, more], ['ignored_field', 'warning', path, []]);
      assert.ok((finding?.line ?? 0) > 1 && finding?.cure !== '');
    });

  test('an alias that no node has, with the one that was meant', () => {
    const text = agentOf({ runtime: { model: 'smrat' } });
    const [finding] = agentFindings(text, ['default', 'smart']);
    assert.deepEqual([finding?.rule, finding?.path], ['unknown_model', 'spec.runtime.model']);
    assert.match(finding?.message ?? '', /"smrat"; did you mean "smart"\?/);
    assert.deepEqual(agentFindings(agentOf({ runtime: { model: 'smart' } }), ['smart']), []);
    assert.deepEqual(agentFindings(text, []), [], 'nothing is known of the nodes');
  });

  test('a plain agent has no findings', () => {
    assert.deepEqual(agentFindings(agentOf({ schedule: { type: 'manual' } }), ['default']), []);
  });
});
