import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultValidator } from '../../../actors/execution/plan.ts';
import { checkJsonSchema, stripFences } from '../../../actors/execution/validators/json-schema.ts';
import { validate } from '../../../actors/execution/validators/validate.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { processorMs } from '../../support/processor-time.ts';

const BUDGET_MS = 2_000;

/** The complaint about an output, or null. Fails when the check takes too long, since it would block a turn. */
function complaint(validator: ResultValidator, stdout: string, extra: { stderr?: string; exit_code?: number } = {}) {
  let verdicts: ReturnType<typeof validate> = [];
  const tookMs = processorMs(() => {
    verdicts = validate([validator], { stdout, stderr: extra.stderr ?? '', exit_code: extra.exit_code ?? 0 });
  });
  assert.ok(tookMs < BUDGET_MS, `took ${Math.round(tookMs)} ms`);
  return verdicts.find((verdict) => !verdict.passed)?.reason ?? null;
}

const schemaOf = (schema: JsonObject): ResultValidator => ({ type: 'json_schema', schema, min_score: 1 });
const regexOf = (pattern: string, target: 'stdout' | 'stderr' = 'stdout'): ResultValidator => ({
  type: 'regex',
  pattern,
  target,
  min_score: 1,
});
const PERSON = schemaOf({
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: { name: { type: 'string', pattern: '^[A-Z]' }, age: { type: 'integer' }, mail: { format: 'email' } },
});

test('validators run in order and the first failure stops', () => {
  const verdicts = validate([{ type: 'exit_code', expected: 0, min_score: 1 }, regexOf('b'), regexOf('c')], {
    stdout: 'a',
    stderr: '',
    exit_code: 0,
  });
  assert.deepEqual(
    verdicts.map(({ validator, passed, score }) => [validator, passed, score]),
    [
      ['exit_code', true, 1],
      ['regex (stdout)', false, 0],
    ],
  );
});

test('a min_score of 0 lets a failed check pass, with its reason kept', () => {
  const [verdict] = validate([{ ...regexOf('b'), min_score: 0 }], { stdout: 'a', stderr: '', exit_code: 0 });
  assert.equal(verdict?.passed, true);
  assert.match(verdict?.reason ?? '', /does not match/);
});

test('exit_code compares with the expected code', () => {
  const validator: ResultValidator = { type: 'exit_code', expected: 3, min_score: 1 };
  assert.equal(complaint(validator, '', { exit_code: 3 }), null);
  assert.equal(complaint(validator, '', { exit_code: 1 }), 'expected exit code 3, got 1');
});

test('json_schema accepts JSON, bare or in a fence', () => {
  assert.equal(complaint(PERSON, '{"name":"Ada","age":36}'), null);
  assert.equal(complaint(PERSON, '```json\n{"name":"Ada"}\n```\n'), null);
  assert.equal(complaint(PERSON, '  \n```\n{"name":"Ada"}\n```'), null);
});

test('json_schema reports every violation', () => {
  const reason = complaint(PERSON, '{"name":"ada","age":1.5,"x":1,"mail":"no"}') ?? '';
  for (const part of ['/name must match pattern', '/age must be integer', '(x)', '/mail must match format']) {
    assert.ok(reason.includes(part), `${part} in ${reason}`);
  }
});

test('json_schema reports a text that is no JSON', () => {
  assert.match(complaint(PERSON, 'Sure! {"name":"Ada"}') ?? '', /^expected JSON: /);
  assert.equal(complaint(PERSON, '```json\n```'), 'expected JSON, got an empty output');
});

test('regex looks at stdout or stderr and anchors make a whole match', () => {
  assert.equal(complaint(regexOf('^\\d+$'), '42'), null);
  assert.match(complaint(regexOf('^\\d+$'), '42 ') ?? '', /stdout does not match/);
  assert.equal(complaint(regexOf('warn', 'stderr'), '', { stderr: 'a warning' }), null);
});

test('fences are stripped only when the whole text is one', () => {
  assert.equal(stripFences('```\na\n```'), 'a');
  assert.equal(stripFences('```json\n{}\n``` and more'), '```json\n{}\n``` and more');
  assert.equal(stripFences('```'), '```');
  assert.equal(stripFences('```js\r\n1\r\n```'), '1');
});

test('output formats are distinguished', () => {
  const of = (format: 'json' | 'yaml' | 'text' | 'csv' | 'pdf'): ResultValidator => ({
    type: 'output_format',
    format,
    min_score: 1,
  });
  assert.equal(complaint(of('json'), '[1]'), null);
  assert.match(complaint(of('json'), 'x') ?? '', /expected JSON/);
  assert.equal(complaint(of('yaml'), 'a: 1\nb: [x]'), null);
  assert.match(complaint(of('yaml'), 'a: [1') ?? '', /expected YAML/);
  assert.equal(complaint(of('csv'), 'a,b\n"1,\n2",3\n'.trim()), null);
  assert.match(complaint(of('csv'), 'a,b\n1') ?? '', /record 2 has 1 fields/);
  assert.equal(complaint(of('pdf'), '%PDF-1.7'), null);
  assert.match(complaint(of('text'), 'a\u0000') ?? '', /NUL/);
  assert.equal(complaint({ type: 'stderr_empty', min_score: 1 }, 'x', { stderr: ' \n' }), null);
  assert.match(complaint({ type: 'stderr_empty', min_score: 1 }, 'x', { stderr: 'oops' }) ?? '', /oops/);
});

const MIB = 1024 * 1024;

test('patterns that blow up a backtracking engine take linear time on 1 MiB', () => {
  const mixed = Array.from({ length: MIB }, (_, n) => 'ab'[((n * 7919) >> 3) & 1]).join('');
  for (const pattern of ['(a+)+$', '^(a|aa)+c$', '([ab]*a){50}e', '(.*)(.*)(.*)(.*)(.*)[0-9]', '[ab]*a[ab]{200}x']) {
    assert.match(complaint(regexOf(pattern), mixed.slice(0, MIB)) ?? '', /does not match|^$/, pattern);
  }
});

test('a text over 1 MiB is not checked, and that is a failure', () => {
  assert.match(complaint(regexOf('x'), 'x'.repeat(MIB + 1)) ?? '', /at most 1048576 are checked/);
  assert.match(complaint(PERSON, 'x'.repeat(MIB + 1)) ?? '', /at most 1048576 are checked/);
});

test('JSON that nests without end is refused before it is parsed', () => {
  assert.match(complaint(schemaOf({}), '['.repeat(500_000)) ?? '', /nests deeper than 100/);
});

test('a schema pattern runs in linear time', () => {
  const text = JSON.stringify('a'.repeat(500_000));
  assert.match(complaint(schemaOf({ type: 'string', pattern: '^(a+)+b$' }), text) ?? '', /pattern/);
});

test('uniqueItems over many items is quick and right', () => {
  const items = Array.from({ length: 35_000 }, (_, n) => ({ n, list: [n] }));
  const unique = schemaOf({ type: 'array', uniqueItems: true });
  assert.equal(complaint(unique, JSON.stringify(items)), null);
  assert.match(complaint(unique, '[{"a":1,"b":2},{"b":2,"a":1}]') ?? '', /uniqueItems/);
});

test('a schema that refers to itself in two branches is stopped', () => {
  const branch = { type: 'object', properties: { a: { $ref: '#/$defs/n' } }, required: ['a'] };
  const schema = schemaOf({ $ref: '#/$defs/n', $defs: { n: { anyOf: [branch, { ...branch, title: 'again' }] } } });
  const deep = `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`;
  assert.match(complaint(schema, deep) ?? '', /more than 200000 references/);
});

test('a schema that refers to itself on the same value is stopped', () => {
  const looping = schemaOf({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } });
  assert.match(complaint(looping, '1') ?? '', /refers to itself|references/);
});

test('a recursive schema still checks a tree', () => {
  const tree = schemaOf({
    type: 'object',
    properties: { children: { type: 'array', items: { $ref: '#' } }, enum: { $ref: '#' } },
    additionalProperties: false,
  });
  assert.equal(complaint(tree, '{"children":[{"children":[]}],"enum":{}}'), null);
  assert.match(complaint(tree, '{"children":[{"x":1}]}') ?? '', /children\/0/);
});

test('long strings fit no format', () => {
  const long = JSON.stringify(`${'a'.repeat(5_000)}@example.com`);
  assert.match(complaint(schemaOf({ format: 'email' }), long) ?? '', /format/);
  assert.equal(complaint(schemaOf({ format: 'date-time' }), '"2026-01-01T00:00:00Z"'), null);
});

test('both drafts are understood', () => {
  const old = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
  assert.match(complaint(schemaOf(old), '[1]') ?? '', /\/0 must be string/);
  assert.match(complaint(schemaOf({ prefixItems: [{ type: 'string' }] }), '[1]') ?? '', /\/0 must be string/);
});

test('a schema with a reference to nowhere is refused by path', () => {
  assert.throws(() => checkJsonSchema({ $ref: '#/$defs/none' }, 'spec.x'), /spec\.x: expected a JSON Schema/);
});
