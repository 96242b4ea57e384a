import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { parseYaml, YAML_LIMITS } from '../../manifests/yaml.ts';
import { processorMs } from '../support/processor-time.ts';
import { sample } from '../support/size.ts';

function refusal(text: string): string {
  const parsed = parseYaml(text);
  assert.ok(!parsed.ok, 'expected a refusal');
  const [first] = parsed.problems;
  assert.ok(first);
  return `${first.path}@${first.line}:${first.column} ${first.message}`;
}

function value(text: string): unknown {
  const parsed = parseYaml(text);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.yaml.value;
}

const mebibyte = 1_048_576;
const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]']
  .concat(
    [...'bcdefghij'].map((name, index) => {
      const before = 'abcdefghij'[index];
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`;
    }),
  )
  .join('\n');

describe('YAML is refused for', () => {
  const cases: readonly [title: string, text: string, expected: RegExp][] = [
    ['a duplicate key, at its second place', 'a:\n  b: 1\n  b: 2\n', /^a@3:3 duplicate key "b"$/],
    ['a duplicate key inside a list', 'a: [{b: 1, "b": 2}]', /^a\[0\]@1:12 duplicate key "b"$/],
    ['an alias bomb', bomb, /expected at most 50 uses of aliases$/],
    ['an alias inside its own anchor', 'a: &a [*a]', /^a\[0\]@1:8 the alias a stands inside itself$/],
    ['an alias without anchor', 'a: *b', /^a@1:4 no anchor named b before this alias$/],
    ['more than 1 MiB', `a: ${'x'.repeat(mebibyte)}`, /^@1:1 expected at most 1048576 bytes of YAML$/],
    ['2 MB in multi-byte characters', `a: ${'é'.repeat(mebibyte)}`, /expected at most 1048576 bytes/],
    ['deep flow nesting', '['.repeat(1_000_000), /expected at most 64 nested lists and maps$/],
    ['deep block nesting', '- '.repeat(500_000), /expected at most 64 nested lists and maps$/],
    ['deep maps', Array.from({ length: 70 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), /expected at most 64 nested/],
    ['too many elements', `[${'1,'.repeat(400_000)}]`, /expected at most 100000 YAML elements$/],
    ['too many values', `[${'1,'.repeat(30_000)}]`, /expected at most 20000 values/],
    [
      'too many values made of aliases',
      `a: &a [${'1,'.repeat(2_000)}]\nb: [${'*a,'.repeat(20)}]`,
      /20000 values, aliases expanded/,
    ],
    ['two documents', 'a: 1\n---\nb: 2\n', /expected one YAML document$/],
    ['a custom tag', 'a: !!js/function x', /Unresolved tag/],
    ['a binary', 'a: !!binary aGk=', /Unresolved tag|expected no YAML tag/],
    ['YAML 1.1', '%YAML 1.1\n---\na: yes\n', /expected YAML 1\.2$/],
    ['a key that is a list', '? [a]\n: 1', /expected a plain text key$/],
    ['a key named __proto__', '__proto__: {a: 1}', /the key __proto__ is not allowed$/],
    ['infinity', 'a: .inf', /^a@1:4 expected a finite number$/],
    [
      'a number that would lose digits',
      'a: 12345678901234567890',
      /^a@1:4 expected a whole number up to 9007199254740991/,
    ],
    ['an unclosed list', 'a: [1,\nb: 2', /not valid YAML: /],
    ['a tab as indentation', 'a:\n\tb: 1', /not valid YAML: /],
    ['a NUL character', 'a: "\0"', /without NUL characters/],
    ['a lone surrogate', 'a: \ud800', /without NUL characters or lone surrogates$/],
  ];
  for (const [title, text, expected] of cases) it(title, () => assert.match(refusal(text), expected));

  it('hostile text in less than two seconds of the processor, whatever its shape', () => {
    const shapes = [
      '"',
      '*a ',
      '&a ',
      '!a ',
      'a: ]',
      '%a\n',
      '#\n',
      '? ',
      'k: 1\n',
      '{? ',
      "'",
      ': ',
      '---\n',
      '\n',
      '|\n ',
    ];
    for (const shape of shapes) {
      const text = shape.repeat(Math.floor(mebibyte / shape.length));
      const tookMs = processorMs(() => parseYaml(text));
      assert.ok(tookMs < 2_000, `${JSON.stringify(shape)} took ${tookMs} ms`);
    }
  });

  it('many distinct duplicates without going through them by pairs', () => {
    const text = Array.from({ length: 15_000 }, (_, index) => `k${index}: 1`).join('\n');
    const tookMs = processorMs(() => assert.ok(parseYaml(text, { ...YAML_LIMITS, maxTokens: 1_000_000 }).ok));
    assert.ok(tookMs < 2_000, `${tookMs} ms`);
  });
});

describe('YAML is read', () => {
  it('as version 1.2: yes and dates are text, 0o7 is a number', () => {
    assert.deepEqual(value('a: yes\nb: 2024-01-01\nc: 0o7\nd: ~\ne: 0x10'), {
      a: 'yes',
      b: '2024-01-01',
      c: 7,
      d: null,
      e: 16,
    });
  });

  it('with a few aliases, and knows the line of a value behind one', () => {
    const parsed = parseYaml('base: &b\n  x: 1\nuse: *b\n');
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.yaml.value, { base: { x: 1 }, use: { x: 1 } });
    assert.deepEqual(parsed.yaml.locate(['use', 'x']), { line: 2, column: 3 });
    assert.deepEqual(parsed.yaml.locate(['use', 'missing', 'deeper']), { line: 3, column: 1 });
  });

  it('as the yaml library reads it, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (json) => {
        const text = stringify(json);
        const parsed = parseYaml(text);
        if (parsed.ok) assert.deepEqual(parsed.yaml.value, parse(text));
        else assert.match(parsed.problems[0]?.message ?? '', /__proto__|whole number|NUL|surrogates|plain text key/);
      }),
      { numRuns: sample({ normal: 30, long: 300 }) },
    );
  });
});

describe('no text makes the parser throw', () => {
  it('random text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        parseAgentManifest(text);
      }),
      { numRuns: sample({ normal: 50, long: 500 }) },
    );
  });

  it('random pieces of YAML', () => {
    const piece = fc.constantFrom(
      'a',
      ': ',
      '\n',
      '  ',
      '- ',
      '[',
      ']',
      '{',
      '}',
      ',',
      '&x ',
      '*x',
      '!!str ',
      '|',
      '"',
      '?',
      '#',
      '<<',
      '---',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        parseAgentManifest(pieces.join(''));
      }),
      { numRuns: sample({ normal: 200, long: 2_000 }) },
    );
  });

  it('random manifests: each is accepted, or every problem has a message and a line of the text', () => {
    const keys = fc.constantFrom(
      'runtime',
      'task',
      'execution',
      'security',
      'tools',
      'env',
      'volumes',
      'validation',
      'type',
      'x',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 2 }),
        fc.dictionary(keys, tie('tree')),
        fc.array(tie('tree')),
      ),
    }));
    const spec = fc.dictionary(keys, tree);
    fc.assert(
      fc.property(spec, fc.string(), (body, name) => {
        const metadata = { name, version: '1.0.0' };
        const text = stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata, spec: body });
        const parsed = parseAgentManifest(text);
        if (parsed.ok) return;
        const lines = text.split('\n').length;
        assert.ok(parsed.problems.length > 0 && parsed.problems.length <= 100);
        for (const { line, column, message } of parsed.problems) {
          assert.ok(line >= 1 && line <= lines && column >= 1);
          assert.doesNotMatch(message, /undefined|\[object|Invalid input/);
        }
      }),
      { numRuns: sample({ normal: 25, long: 500 }) },
    );
  });
});
