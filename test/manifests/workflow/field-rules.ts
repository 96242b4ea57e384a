import type { Kind } from './document.ts';

/**
 * One row of spec 3's tables: where the field stands (below the document for `top`, else below the state `s` of that
 * kind); values that are accepted with what comes out of them, where and how others are refused.
 */
export interface FieldRule {
  readonly on: 'top' | Kind;
  readonly field: string;
  /** Name of the field after parsing, when it changes. */
  readonly out?: string;
  /** Written value and value that comes out; undefined written: left out. */
  readonly accepts: readonly (readonly [written: unknown, out: unknown])[];
  /** Written value (undefined: left out), the reason, and the path that is named if not the field's. */
  readonly refuses: readonly (readonly [written: unknown, message: RegExp, path?: string])[];
}

const same = (...values: readonly unknown[]) => values.map((value) => [value, value] as const);
const REQUIRED = /^required/;
const NUMBER = /expected a number, got text/;
const WHOLE = /expected a whole number|expected a number/;
const transition = (fields: object) => ({ target: 'end', ...fields });
const mount = { volume: 'workspace', mount_path: '/workspace', access_mode: 'read-write' };
const shared = { name: 'cache', storage_class: 'ephemeral' };

const timeouts = {
  accepts: [
    ['300s', 300_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
  ],
  refuses: [
    ['soon', /expected a duration such as 300s, 5m or 1h .*got "soon"/],
    [300, /expected a duration .*got a number/],
    ['0s', /expected a duration/],
    ['400d', /expected a duration/],
  ],
} as const;

const TOP: readonly FieldRule[] = [
  {
    on: 'top',
    field: 'apiVersion',
    accepts: same('svc.dev/v1'),
    refuses: [
      [undefined, REQUIRED],
      ['svc.dev/v2', /expected "svc\.dev\/v1", got "svc\.dev\/v2"/],
    ],
  },
  {
    on: 'top',
    field: 'kind',
    accepts: same('Workflow'),
    refuses: [
      [undefined, REQUIRED],
      ['Agent', /expected "Workflow", got "Agent"/],
    ],
  },
  {
    on: 'top',
    field: 'metadata',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      ['x', /expected a map, got text/],
    ],
  },
  {
    on: 'top',
    field: 'spec',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [[], /expected a map, got a list/],
    ],
  },
  {
    on: 'top',
    field: 'metadata.name',
    accepts: same('a', '0-a', 'a'.repeat(63)),
    refuses: [
      [undefined, REQUIRED],
      ['A', /lower-case/],
      ['-a', /not starting with a dash/],
      ['a'.repeat(64), /1 to 63/],
      ['', /1 to 63/],
    ],
  },
  {
    on: 'top',
    field: 'metadata.version',
    accepts: same('1.0.0', '0.1.0-rc.1+b.5'),
    refuses: [
      [undefined, REQUIRED],
      ['1.0', /semantic version/],
      [1, /write the version in quotes/],
      ['v1.0.0', /semantic version/],
    ],
  },
  {
    on: 'top',
    field: 'metadata.description',
    accepts: [...same('text'), [undefined, '']],
    refuses: [[1, /expected text, got a number/]],
  },
  {
    on: 'top',
    field: 'metadata.labels',
    accepts: [...same({ team: 'a' }), [undefined, {}]],
    refuses: [
      [['a'], /expected a map/],
      [{ a: 1 }, /put it in quotes/, 'metadata.labels.a'],
    ],
  },
  {
    on: 'top',
    field: 'metadata.annotations',
    accepts: [...same({ 'a/b': 'c' }), [undefined, {}]],
    refuses: [['x', /expected a map/]],
  },
  {
    on: 'top',
    field: 'metadata.input_schema',
    accepts: same(
      { type: 'object' },
      {
        type: 'object',
        properties: { a: { type: 'integer' }, b: { enum: ['x'] }, c: { type: 'array' } },
        required: ['a'],
      },
      undefined,
    ),
    refuses: [
      [{ type: 'array' }, /expected type: object/, 'metadata.input_schema.type'],
      [{}, /expected type: object/, 'metadata.input_schema.type'],
      [{ type: 'object', required: 'a' }, /expected a JSON Schema/],
      [{ type: 'object', $ref: '#/nowhere' }, /expected a JSON Schema/],
      [{ type: 'object', $ref: 'https://x.dev/a' }, /must stay inside/],
    ],
  },
  {
    on: 'top',
    field: 'spec.initial_state',
    accepts: same('s', 'end'),
    refuses: [
      [undefined, REQUIRED],
      ['nope', /expected the name of a state, got "nope"/],
      ['toString', /expected the name of a state/],
    ],
  },
  {
    on: 'top',
    field: 'spec.context',
    accepts: [...same({ a: 1, 'b c': { d: [null, true] } }), [undefined, {}]],
    refuses: [
      [[], /expected a map/],
      [{ constructor: 1 }, /not allowed here/, 'spec.context.constructor'],
    ],
  },
  {
    on: 'top',
    field: 'spec.states',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [{}, /at least one state/],
      [[], /expected a map/],
    ],
  },
  { on: 'top', field: 'spec.extra', accepts: [], refuses: [[1, /unknown key "extra"/]] },
  {
    on: 'top',
    field: 'spec.storage',
    accepts: [[undefined, { shared_volumes: [] }]],
    refuses: [['x', /expected a map/]],
  },
  {
    on: 'top',
    field: 'spec.storage.workspace',
    accepts: [[{}, { storage_class: 'ephemeral' }]],
    refuses: [['x', /expected a map/]],
  },
  {
    on: 'top',
    field: 'spec.storage.workspace.storage_class',
    accepts: same('ephemeral', 'persistent'),
    refuses: [['fast', /expected one of ephemeral, persistent, got "fast"/]],
  },
  {
    on: 'top',
    field: 'spec.storage.workspace.ttl_hours',
    accepts: same(1, 24),
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
      ['1', NUMBER],
    ],
  },
  {
    on: 'top',
    field: 'spec.storage.workspace',
    accepts: same({ storage_class: 'persistent', size_limit_mb: 5 }),
    refuses: [
      [
        { storage_class: 'persistent', ttl_hours: 1 },
        /only for storage_class ephemeral/,
        'spec.storage.workspace.ttl_hours',
      ],
    ],
  },
  {
    on: 'top',
    field: 'spec.storage.workspace.size_limit_mb',
    accepts: same(1, 10_240),
    refuses: [
      [0, /at least 1/],
      ['1Gi', NUMBER],
    ],
  },
  {
    on: 'top',
    field: 'spec.storage.shared_volumes',
    accepts: [...same([shared, { ...shared, name: 'my cache' }]), [undefined, []]],
    refuses: [
      [[shared, shared], /expected a unique name, got "cache" again/, 'spec.storage.shared_volumes[1].name'],
      ['x', /expected a list/],
    ],
  },
  {
    on: 'top',
    field: 'spec.storage.shared_volumes.0',
    accepts: same(
      { ...shared, ttl_hours: 2, size_limit_mb: 64 },
      { name: 'v', storage_class: 'persistent', volume_id: '0f8fad5b-d9cb-469f-a165-70867728950e' },
    ),
    refuses: [
      [{ name: 'v' }, REQUIRED, 'spec.storage.shared_volumes[0].storage_class'],
      [{ storage_class: 'ephemeral' }, REQUIRED, 'spec.storage.shared_volumes[0].name'],
      [
        { name: '__proto__', storage_class: 'ephemeral' },
        /__proto__ is not allowed/,
        'spec.storage.shared_volumes[0].name',
      ],
      [
        { name: 'v', storage_class: 'persistent', ttl_hours: 1 },
        /only for storage_class ephemeral/,
        'spec.storage.shared_volumes[0].ttl_hours',
      ],
      [
        { name: 'v', storage_class: 'persistent', size_limit_mb: 1 },
        /only for storage_class ephemeral/,
        'spec.storage.shared_volumes[0].size_limit_mb',
      ],
      [
        { ...shared, volume_id: '0f8fad5b-d9cb-469f-a165-70867728950e' },
        /only for storage_class persistent/,
        'spec.storage.shared_volumes[0].volume_id',
      ],
      [{ name: 'v', storage_class: 'persistent', volume_id: 'x' }, /UUID/, 'spec.storage.shared_volumes[0].volume_id'],
    ],
  },
];

const COMMON: readonly FieldRule[] = [
  {
    on: 'System',
    field: 'kind',
    accepts: [],
    refuses: [
      [
        undefined,
        /expected one of Agent, System, Human, ParallelAgents, ContainerRun, ParallelContainerRun, Subworkflow/,
      ],
      ['Loop', /expected one of .*got "Loop"/],
    ],
  },
  ...(['Agent', 'System', 'ParallelAgents', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'] as const).map(
    (on): FieldRule => ({
      on,
      field: 'timeout',
      out: 'timeout_ms',
      ...timeouts,
      accepts: [...timeouts.accepts, [undefined, 300_000]],
    }),
  ),
  { on: 'Human', field: 'timeout', out: 'timeout_ms', ...timeouts, accepts: [...timeouts.accepts, [undefined, null]] },
  ...(
    ['Agent', 'System', 'Human', 'ParallelAgents', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'] as const
  ).map(
    (on): FieldRule => ({
      on,
      field: 'transitions',
      accepts: same([]),
      refuses: [
        [undefined, REQUIRED],
        [{}, /expected a list, got a map/],
      ],
    }),
  ),
  {
    on: 'Agent',
    field: 'volumes',
    accepts: [
      ...same([mount, { ...mount, volume: '{{workflow.storage.workspace}}', access_mode: 'read-only' }]),
      [undefined, []],
    ],
    refuses: [
      [[{ ...mount, mount_path: 'rel' }], /expected an absolute path, got "rel"/, 'volumes[0].mount_path'],
      [[{ ...mount, mount_path: '/a/../b' }], /no "\." or "\.\."/, 'volumes[0].mount_path'],
      [[{ ...mount, access_mode: 'rw' }], /expected one of read-write, read-only, got "rw"/, 'volumes[0].access_mode'],
      [[{ volume: 'a', mount_path: '/a' }], REQUIRED, 'volumes[0].access_mode'],
      [[{ mount_path: '/a', access_mode: 'read-only' }], REQUIRED, 'volumes[0].volume'],
      [[{ volume: 'a', access_mode: 'read-only' }], REQUIRED, 'volumes[0].mount_path'],
    ],
  },
  {
    on: 'System',
    field: 'volumes',
    accepts: same([mount], undefined),
    refuses: [[[{}], REQUIRED, 'volumes[0].volume']],
  },
];

const KINDS: readonly FieldRule[] = [
  {
    on: 'Agent',
    field: 'agent',
    accepts: same('writer', '0f8fad5b-d9cb-469f-a165-70867728950e', '{{input.agent}}'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1 character/],
      [1, /expected text/],
    ],
  },
  {
    on: 'Agent',
    field: 'input',
    accepts: same('Write about {{input.topic}}', undefined),
    refuses: [
      [{}, /expected text/],
      ['x'.repeat(65_537), /at most 65536 characters/],
    ],
  },
  {
    on: 'Agent',
    field: 'isolation',
    accepts: [...same('firecracker', 'docker', 'process', 'inherit'), [undefined, 'inherit']],
    refuses: [['vm', /expected one of inherit, firecracker, docker, process, got "vm"/]],
  },
  {
    on: 'System',
    field: 'command',
    accepts: same('npm test', 'update_context', '{{blackboard.command}}'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
      [['npm'], /expected text, got a list/],
    ],
  },
  {
    on: 'System',
    field: 'env',
    accepts: [
      [
        { A: 'b', N: 1, T: true },
        { A: 'b', N: '1', T: 'true' },
      ],
      [undefined, {}],
    ],
    refuses: [
      [{ A: ['b'] }, /put it in quotes/, 'env.A'],
      [['A=b'], /expected a map/],
    ],
  },
  {
    on: 'System',
    field: 'workdir',
    accepts: [...same('/workspace/app'), [undefined, '/workspace']],
    refuses: [[1, /expected text/]],
  },
  {
    on: 'Human',
    field: 'prompt',
    accepts: same('Ship {{BUILD.output}}?'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
    ],
  },
  {
    on: 'Human',
    field: 'default_response',
    accepts: [...same('approved', undefined), [true, 'true']],
    refuses: [[['yes'], /put it in quotes/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [[], /at least 1 entry/],
      [[{}], REQUIRED, 'agents[0].agent'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.agent',
    accepts: same('judge', '{{input.judge}}'),
    refuses: [['', /at least 1/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.input',
    accepts: same('Judge {{WRITE.output}}', undefined),
    refuses: [[1, /expected text/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.weight',
    accepts: [...same(0.5, 2, 0), [undefined, 1]],
    refuses: [
      [-1, /at least 0/],
      ['1', NUMBER],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.timeout_seconds',
    accepts: [...same(1, 120), [undefined, 60]],
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.poll_interval_ms',
    accepts: [...same(100), [undefined, 500]],
    refuses: [
      [0, /at least 1/],
      ['1s', NUMBER],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [{}, /expected one of weighted_average/, 'consensus.strategy'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.strategy',
    accepts: same('weighted_average', 'majority', 'unanimous'),
    refuses: [
      ['any', /expected one of weighted_average, majority, unanimous, best_of_n, got "any"/],
      ['best_of_n', /required for strategy best_of_n/, 'consensus.n'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [
      [
        { strategy: 'best_of_n', n: 2 },
        {
          strategy: 'best_of_n',
          n: 2,
          threshold: 0.7,
          min_judges_required: 1,
          early_stop: false,
          confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
        },
      ],
    ],
    refuses: [
      [{ strategy: 'best_of_n', n: 0 }, /at least 1/, 'consensus.n'],
      [{ strategy: 'best_of_n', threshold: 2 }, /required for strategy best_of_n/, 'consensus.n'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.threshold',
    accepts: [...same(0, 1, 0.85), [undefined, 0.7]],
    refuses: [
      [1.01, /at most 1, got 1\.01/],
      [-0.1, /at least 0/],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.min_agreement_confidence',
    accepts: same(0, 1, undefined),
    refuses: [[2, /at most 1/]],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.agreement',
    out: 'consensus.min_agreement_confidence',
    accepts: same(0.6),
    refuses: [[-1, /at least 0/]],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [],
    refuses: [
      [{ strategy: 'majority', agreement: 0.5, min_agreement_confidence: 0.6 }, /another name/, 'consensus.agreement'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.min_judges_required',
    accepts: [...same(2), [undefined, 1]],
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.confidence_weighting',
    accepts: [
      ...same(
        { agreement_factor: 0.6, self_confidence_factor: 0.4 },
        { agreement_factor: 1, self_confidence_factor: 0 },
      ),
      [{ agreement_factor: 0.6 }, { agreement_factor: 0.6, self_confidence_factor: 0.4 }],
      [{ self_confidence_factor: 0.3 }, { agreement_factor: 0.7, self_confidence_factor: 0.3 }],
      [undefined, { agreement_factor: 0.7, self_confidence_factor: 0.3 }],
    ],
    refuses: [
      [
        { agreement_factor: 0.6, self_confidence_factor: 0.6 },
        /a sum of 1\.0/,
        'consensus.confidence_weighting.self_confidence_factor',
      ],
      [{ agreement_factor: 2 }, /at most 1/, 'consensus.confidence_weighting.agreement_factor'],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'workflow_id',
    accepts: same('child', '0f8fad5b-d9cb-469f-a165-70867728950e'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'mode',
    accepts: [...same('blocking', 'fire_and_forget'), [undefined, 'blocking']],
    refuses: [['async', /expected one of blocking, fire_and_forget, got "async"/]],
  },
  {
    on: 'Subworkflow',
    field: 'result_key',
    accepts: same('child result', undefined),
    refuses: [
      ['', /at least 1/],
      ['__proto__', /not allowed here/],
      ['constructor', /not allowed here/],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'input',
    accepts: same('{"a": {{json input}}}', undefined),
    refuses: [[{ a: 1 }, /expected text, got a map/]],
  },
];

const volume = { name: 'workspace', mount_path: '/data' };
const containers = (on: 'ContainerRun' | 'ParallelContainerRun'): readonly FieldRule[] => {
  const at = (field: string) => (on === 'ContainerRun' ? field : `steps.0.${field}`);
  const named = (path: string) => (on === 'ContainerRun' ? path : `steps[0].${path}`);
  const out = (field: string): { out?: string } => ({ out: at(field) });
  return [
    {
      on,
      field: at('image'),
      accepts: same('alpine', 'ghcr.io/o/a@sha256:0123', 'localhost:5000/a:1'),
      refuses: [
        [undefined, REQUIRED],
        ['', /at least 1/],
      ],
    },
    {
      on,
      field: at('image_pull_policy'),
      accepts: [...same('Always', 'Never', 'IfNotPresent'), [undefined, 'IfNotPresent']],
      refuses: [['always', /expected one of Always, IfNotPresent, Never, got "always"/]],
    },
    {
      on,
      field: at('command'),
      accepts: same(['sh', '-c', 'echo {{input.a}}'], ['']),
      refuses: [
        [undefined, REQUIRED],
        ['make', /expected a list, got text/],
        [[], /at least 1 entry/],
        [[1], /expected text/, named('command[0]')],
      ],
    },
    {
      on,
      field: at('shell'),
      accepts: [...same(true), [undefined, false]],
      refuses: [['yes', /expected true or false, got text/]],
    },
    {
      on,
      field: at('env'),
      accepts: [
        [{ A: 1 }, { A: '1' }],
        [undefined, {}],
      ],
      refuses: [[{ A: null }, /put it in quotes/, named('env.A')]],
    },
    {
      on,
      field: at('workdir'),
      accepts: [...same('/src'), [undefined, '/workspace']],
      refuses: [[[], /expected text/]],
    },
    {
      on,
      field: at('volumes'),
      accepts: [
        [[volume], [{ ...volume, read_only: false }]],
        [[{ ...volume, read_only: true }], [{ ...volume, read_only: true }]],
        [undefined, []],
      ],
      refuses: [
        [
          [{ ...volume, name: 'nope' }],
          /expected the name of a volume of the workflow \(workspace\), got "nope"/,
          named('volumes[0].name'),
        ],
        [[{ name: 'workspace' }], REQUIRED, named('volumes[0].mount_path')],
        [[{ mount_path: '/a' }], REQUIRED, named('volumes[0].name')],
        [[{ ...volume, mount_path: 'a' }], /absolute path/, named('volumes[0].mount_path')],
        [[{ ...volume, read_only: 'no' }], /true or false/, named('volumes[0].read_only')],
      ],
    },
    {
      on,
      field: at('resources.cpu'),
      ...out('resources.cpu_millicores'),
      accepts: same(2_000, 1, undefined),
      refuses: [
        [0, /at least 1/],
        [0.5, WHOLE],
        ['500m', NUMBER],
      ],
    },
    {
      on,
      field: at('resources.memory'),
      ...out('resources.memory_bytes'),
      accepts: [
        ['512Mi', 536_870_912],
        ['2Gi', 2_147_483_648],
        [undefined, undefined],
      ],
      refuses: [
        ['lots', /expected a size such as 512Mi/],
        ['0', /expected a size/],
      ],
    },
    {
      on,
      field: at('resources.timeout'),
      ...out('resources.timeout_ms'),
      accepts: [
        ['30s', 30_000],
        ['2d', 172_800_000],
        [undefined, 300_000],
      ],
      refuses: [
        ['x', /expected a duration/],
        [5, /expected a duration/],
      ],
    },
    {
      on,
      field: at('registry_credentials'),
      accepts: same('registry/ghcr', undefined),
      refuses: [
        ['', /at least 1/],
        [{ user: 'a' }, /expected text/],
      ],
    },
  ];
};

const CONTAINERS: readonly FieldRule[] = [
  ...containers('ContainerRun'),
  ...containers('ParallelContainerRun'),
  { on: 'ContainerRun', field: 'name', accepts: same('Build the image', undefined), refuses: [[1, /expected text/]] },
  {
    on: 'ContainerRun',
    field: 'retry.max_attempts',
    accepts: [...same(3), [undefined, 1]],
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
    ],
  },
  {
    on: 'ContainerRun',
    field: 'retry.backoff',
    out: 'retry.backoff_ms',
    accepts: [
      ['0s', 0],
      ['10s', 10_000],
      [undefined, 0],
    ],
    refuses: [
      ['-1s', /expected a duration/],
      [1, /expected a duration/],
    ],
  },
  {
    on: 'ParallelContainerRun',
    field: 'steps',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [[], /at least 1 entry/],
    ],
  },
  {
    on: 'ParallelContainerRun',
    field: 'steps.0.name',
    accepts: same('unit tests', 'a-b'),
    refuses: [
      [undefined, REQUIRED],
      ['__proto__', /not allowed here/],
    ],
  },
  {
    on: 'ParallelContainerRun',
    field: 'steps.1',
    accepts: [],
    refuses: [
      [{ name: 'lint', image: 'a', command: ['b'] }, /expected a unique name, got "lint" again/, 'steps[1].name'],
      [{ name: 'b', image: 'a', command: ['b'], retry: {} }, /unknown key "retry"/, 'steps[1].retry'],
    ],
  },
  {
    on: 'ParallelContainerRun',
    field: 'completion',
    accepts: [...same('any_succeed', 'best_effort', 'all_succeed'), [undefined, 'all_succeed']],
    refuses: [['first', /expected one of all_succeed, any_succeed, best_effort, got "first"/]],
  },
];

const t = 'transitions.0';
const needs = (condition: string, field: string, value: unknown): FieldRule => ({
  on: 'Agent',
  field: t,
  accepts: [],
  refuses: [
    [
      transition({ condition, ...(condition === 'score_between' ? { min: 0, max: 1 } : {}), [field]: undefined }),
      new RegExp(`^required for condition ${condition}`),
      `transitions[0].${field}`,
    ],
    [transition({ condition, [field]: value, wrong: 1 }), /unknown key "wrong"/, 'transitions[0].wrong'],
  ],
});

const TRANSITIONS: readonly FieldRule[] = [
  {
    on: 'Agent',
    field: `${t}.condition`,
    accepts: [
      ...same(
        'always',
        'on_success',
        'on_failure',
        'exit_code_zero',
        'exit_code_non_zero',
        'consensus',
        'all_approved',
        'any_rejected',
        'input_equals_yes',
        'input_equals_no',
      ),
      [undefined, 'always'],
    ],
    refuses: [
      ['approved', /expected one of always, on_success, .*got "approved"/],
      ['constructor', /expected one of/],
    ],
  },
  {
    on: 'Agent',
    field: `${t}.target`,
    accepts: same('s', 'end'),
    refuses: [
      [undefined, REQUIRED],
      ['nope', /expected the name of a state, got "nope"/],
      [1, /expected text/],
    ],
  },
  { on: 'Agent', field: `${t}.feedback`, accepts: same('{{s.output}}', undefined), refuses: [[1, /expected text/]] },
  {
    on: 'Agent',
    field: `${t}.threshold`,
    accepts: same(0, 0.8, 1, undefined),
    refuses: [
      [1.1, /at most 1/],
      ['0.8', NUMBER],
    ],
  },
  { on: 'Agent', field: `${t}.agreement`, accepts: same(0, 1, undefined), refuses: [[-0.5, /at least 0/]] },
  {
    on: 'Agent',
    field: `${t}.value`,
    accepts: [
      ['3', '3'],
      [3, '3'],
      ['yes', 'yes'],
      [true, 'true'],
      [undefined, undefined],
    ],
    refuses: [[['a'], /put it in quotes/]],
  },
  {
    on: 'Agent',
    field: `${t}.expression`,
    accepts: same('{{s.score}} > 0.5', undefined),
    refuses: [[true, /expected text/]],
  },
  { on: 'Agent', field: `${t}.min`, accepts: same(0, 0.5), refuses: [['0', NUMBER]] },
  { on: 'Agent', field: `${t}.max`, accepts: same(1, 0.5), refuses: [['1', NUMBER]] },
  {
    on: 'Agent',
    field: t,
    accepts: same(
      transition({ condition: 'score_between', min: 0.5, max: 0.5 }),
      transition({ condition: 'custom', expression: 's.score > 0.5' }),
      transition({ condition: 'score_above', threshold: 0.5 }),
    ),
    refuses: [
      [
        transition({ condition: 'score_between', min: 0.6, max: 0.5 }),
        /expected at least min, 0\.6/,
        'transitions[0].max',
      ],
    ],
  },
  needs('score_above', 'threshold', 0.5),
  needs('score_below', 'threshold', 0.5),
  needs('confidence_above', 'threshold', 0.5),
  needs('score_between', 'min', 0),
  needs('score_between', 'max', 1),
  needs('exit_code', 'value', 3),
  needs('input_equals', 'value', 'x'),
  needs('custom', 'expression', 'true'),
];

export const FIELD_RULES: readonly FieldRule[] = [...TOP, ...COMMON, ...KINDS, ...CONTAINERS, ...TRANSITIONS];
