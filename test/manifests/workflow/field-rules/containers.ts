import { type FieldRule, NUMBER, REQUIRED, same, WHOLE } from './rule.ts';

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

export const CONTAINER_RULES: readonly FieldRule[] = [
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
