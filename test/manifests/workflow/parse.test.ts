import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import type { Json, JsonObject } from '../../../manifests/json-schema/fit.ts';
import { checkInput, takeInput } from '../../../manifests/workflow/input.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import { parseWorkflowManifest } from '../../../manifests/workflow/parse.ts';
import { END, type Kind, STATES, withValue, workflowDoc, workflowText } from './document.ts';

const KINDS = Object.keys(STATES).filter((kind): kind is Kind => Object.hasOwn(STATES, kind));

function problemsOf(text: string): string[] {
  const parsed = parseWorkflowManifest(text);
  assert.ok(!parsed.ok, 'expected problems');
  return parsed.problems.map(({ path, line }) => `${line} ${path}`);
}

describe('a workflow manifest', () => {
  it('reports all its problems at once, each with its line: unknown names, rules over several fields, types', () => {
    const text = `apiVersion: svc.dev/v1
kind: Workflow
metadata:
  name: Bad Name
  version: "1.0.0"
  input_schema: { type: array }
  owner: me
spec:
  initial_state: nowhere
  storage:
    workspace: { storage_class: persistent, ttl_hours: 3, oops: 1 }
    shared_volumes:
      - { name: a, storage_class: ephemeral, size_limit_mb: big }
      - { name: a, storage_class: persistent, size_limit_mb: 3 }
  states:
    draft:
      kind: Agent
      agent: writer
      timeout: soon
      transitions:
        - { condition: score_between, min: 0.9, max: 0.1, target: gone, oops: 1 }
        - { condition: score_above, target: 7 }
    panel:
      kind: ParallelAgents
      agents: []
      consensus: { strategy: best_of_n, threshold: 3 }
      transitions: [{ target: gone }]
    build:
      kind: ContainerRun
      image: alpine
      command: make
      volumes: [{ name: b, mount_path: here }]
      transitions: nothing
    more: {}
`;
    assert.deepEqual(problemsOf(text), [
      '4 metadata.name',
      '6 metadata.input_schema.type',
      '7 metadata.owner',
      '9 spec.initial_state',
      '11 spec.storage.workspace.ttl_hours',
      '11 spec.storage.workspace.oops',
      '13 spec.storage.shared_volumes[0].size_limit_mb',
      '14 spec.storage.shared_volumes[1].name',
      '14 spec.storage.shared_volumes[1].size_limit_mb',
      '19 spec.states.draft.timeout',
      '21 spec.states.draft.transitions[0].max',
      '21 spec.states.draft.transitions[0].target',
      '21 spec.states.draft.transitions[0].oops',
      '22 spec.states.draft.transitions[1].threshold',
      '22 spec.states.draft.transitions[1].target',
      '25 spec.states.panel.agents',
      '26 spec.states.panel.consensus.n',
      '26 spec.states.panel.consensus.threshold',
      '27 spec.states.panel.transitions[0].target',
      '31 spec.states.build.command',
      '32 spec.states.build.volumes[0].name',
      '32 spec.states.build.volumes[0].mount_path',
      '33 spec.states.build.transitions',
      '34 spec.states.more.kind',
    ]);
  });

  for (const name of [
    'Build it',
    'run-tests',
    'ÜBER',
    '1',
    'a.b',
    'a/b',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'input',
    '😀',
  ])
    it(`may have a state named ${name}`, () => {
      const parsed = parseWorkflowManifest(
        workflowText({ [name]: { ...STATES.System, transitions: [{ target: name }, { target: 'end' }] } }),
      );
      assert.ok(parsed.ok, JSON.stringify(parsed));
    });

  for (const name of ['__proto__', 'constructor', 'prototype'])
    it(`is refused with the key ${name} where it would be one of ours, and changes nothing`, () => {
      const bad = `"${name}": { kind: System, command: x, env: { "${name}": a }, transitions: [] }`;
      const text = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: a, version: "1.0.0", labels: { "${name}": x } }
spec: { initial_state: "${name}", context: { "${name}": { polluted: true } }, states: { ${bad} } }
`;
      const found = problemsOf(text);
      assert.ok(found.length >= (name === '__proto__' ? 1 : 2), found.join('\n'));
      const polluted: unknown = Reflect.get({}, 'polluted');
      assert.equal(polluted, undefined);
    });

  it('reports an unknown target although another state is broken', () => {
    const text = workflowText({ a: { kind: 'Agent' }, b: { ...STATES.System, transitions: [{ target: 'c' }] } });
    const paths = problemsOf(text).map((line) => line.split(' ')[1]);
    assert.deepEqual(paths.sort(), [
      'spec.states.a.agent',
      'spec.states.a.transitions',
      'spec.states.b.transitions[0].target',
    ]);
  });

  it('has at most 1,000 states', () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`s${index}`, END]));
    const found = problemsOf(workflowText(many));
    assert.ok(
      found.some((line) => line.endsWith(' spec.states')),
      found.join('\n'),
    );
  });
});

describe('the JSON Schema of a workflow manifest', () => {
  const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(workflowJsonSchema());
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  it('has its key and a title', () => {
    assert.equal(WORKFLOW_MANIFEST_KEY, 'workflow/manifest/v1');
    assert.equal(workflowJsonSchema().title, 'Workflow manifest v1');
    assert.equal(workflowJsonSchema(), workflowJsonSchema());
  });

  for (const kind of KINDS)
    it(`takes a ${kind} state, and refuses it without transitions or with an unknown key`, () => {
      const doc = workflowDoc({ s: STATES[kind] });
      assert.ok(accepts(asJson(doc)), JSON.stringify(accepts.errors));
      assert.ok(parseWorkflowManifest(JSON.stringify(doc)).ok);
      for (const bad of [
        withValue(doc, 'spec.states.s.transitions', undefined),
        withValue(doc, 'spec.states.s.oops', 1),
        withValue(doc, 'spec.states.s.timeout', 5),
        withValue(doc, 'spec.states.s.transitions.0.condition', 'sometimes'),
      ]) {
        assert.equal(accepts(asJson(bad)), false);
        assert.equal(parseWorkflowManifest(JSON.stringify(bad)).ok, false);
      }
    });
});

describe('the input of a workflow', () => {
  const schema = {
    type: 'object',
    properties: {
      topic: { type: 'string', pattern: '^[a-z]+$' },
      count: { type: 'integer', minimum: 1 },
      ratio: { type: 'number' },
      fast: { type: 'boolean' },
      mode: { enum: ['a', 'b'] },
      users: { type: 'array', items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } },
    },
    required: ['topic'],
    additionalProperties: false,
  };

  it('is anything without a schema', () => {
    assert.deepEqual(checkInput(undefined, [1, null]), []);
  });
  it('fits with every property type of the specification', () => {
    assert.deepEqual(
      checkInput(schema, { topic: 'abc', count: 2, ratio: 0.5, fast: true, mode: 'b', users: [{ name: 'x' }] }),
      [],
    );
  });
  it('reports all that does not fit, each with its path and without its value', () => {
    const found = checkInput(schema, {
      topic: 'SECRET',
      count: 0,
      mode: 'SECRET',
      users: [{}, { name: 1 }],
      'a b': 'SECRET',
    });
    assert.deepEqual(found.map(({ path }) => path).sort(), [
      'input',
      'input.count',
      'input.mode',
      'input.topic',
      'input.users[0]',
      'input.users[1].name',
    ]);
    assert.ok(!JSON.stringify(found).includes('SECRET'), JSON.stringify(found));
  });
  it('is not taken when it is no object', () => {
    for (const input of [null, [], 'x', 1])
      assert.deepEqual(
        checkInput(schema, input).map(({ path }) => path),
        ['input'],
      );
  });
  it('is checked in linear time, whatever the pattern', () => {
    const slow = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    assert.equal(checkInput(slow, { a: `${'a'.repeat(50_000)}!` }).length, 1);
  });
  it('gets an error instead of an exception when the schema refers to itself without end or to nothing', () => {
    const endless = { type: 'object', $ref: '#' };
    assert.equal(checkInput(endless, {})[0]?.path, 'metadata.input_schema');
    const nothing = { type: 'object', $ref: '#/$defs/none' };
    assert.equal(checkInput(nothing, {})[0]?.path, 'metadata.input_schema');
  });
  it('gets the defaults of the schema where it has nothing, in objects inside it too', () => {
    const taken = (properties: JsonObject, given: Json, more: JsonObject = {}) =>
      takeInput({ type: 'object', properties, ...more }, given);
    const properties: JsonObject = {
      depth: { type: 'integer', default: 3 },
      none: { default: null },
      deep: { type: 'object', properties: { a: { default: 1 }, b: { default: [1] }, c: {} } },
      made: { type: 'object', default: {}, properties: { a: { default: false } } },
      list: { type: 'array', items: { type: 'object', properties: { a: { default: 1 } } } },
      plain: { type: 'string' },
    };
    const given = { depth: 0, deep: { b: null }, list: [{}], own: 'x' };
    const { input } = taken(properties, given);
    assert.deepEqual(input, { ...given, none: null, made: { a: false }, deep: { a: 1, b: null } });
    assert.deepEqual(given, { depth: 0, deep: { b: null }, list: [{}], own: 'x' });
    assert.deepEqual(taken(properties, {}).input, { depth: 3, none: null, made: { a: false } });
    assert.deepEqual(takeInput(undefined, 7), { input: 7, misfits: [] });
    const whole = { plain: 'x' };
    assert.equal(taken({ plain: { default: 'y' } }, whole).input, whole);
    const proto: JsonObject = JSON.parse('{"__proto__": {"default": {"x": 1}}}');
    assert.equal(JSON.stringify(taken(proto, {}).input), '{"__proto__":{"x":1}}');
  });
  it('is checked as it was given: a default is no answer to what is required, and must fit itself', () => {
    const required = { type: 'object', required: ['a'], properties: { a: { default: 1 } } };
    assert.deepEqual(
      takeInput(required, {}).misfits.map(({ path }) => path),
      ['input'],
    );
    const wrong = { type: 'object', properties: { a: { type: 'integer', default: 'one' } } };
    const [misfit] = takeInput(wrong, {}).misfits;
    assert.deepEqual([misfit?.path, /defaults of the schema/.test(misfit?.message ?? '')], ['input.a', true]);
    assert.deepEqual(takeInput(wrong, { a: 1 }).misfits, []);
  });
  it('has a bounded number of problems', () => {
    const users = Array.from({ length: 1_000 }, () => ({}));
    assert.ok(checkInput(schema, { topic: 'a', users }).length <= 50);
  });
});

it('YAML examples with anchors keep their lines', () => {
  const text = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: a, version: "1.0.0" }
spec:
  initial_state: a
  states:
    a: &a
      kind: System
      command: make
      transitions: [{ target: nope }]
    b: *a
`;
  assert.deepEqual(problemsOf(text), [
    '10 spec.states.a.transitions[0].target',
    '10 spec.states.b.transitions[0].target',
  ]);
  assert.ok(parse(text));
});
