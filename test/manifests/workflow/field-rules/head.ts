import { type FieldRule, NUMBER, REQUIRED, same, WHOLE } from './rule.ts';

const shared = { name: 'cache', storage_class: 'ephemeral' };

export const HEAD_RULES: readonly FieldRule[] = [
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
