import { type FieldRule, REQUIRED, same } from './rule.ts';

const mount = { volume: 'workspace', mount_path: '/workspace', access_mode: 'read-write' };

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

export const STATE_RULES: readonly FieldRule[] = [
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
