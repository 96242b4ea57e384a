import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { validateWorkflow } from '../../../catalog/manifest-work.ts';
import { RULES } from '../../../manifests/workflow/check/check-workflow.ts';
import { componentsOf, flowOf } from '../../../manifests/workflow/check/flow.ts';
import { CONDITIONS } from '../../../manifests/workflow/transition.ts';
import { sample } from '../../support/size.ts';
import { type Doc, STATES, withValue, workflowDoc } from './document.ts';
import { known } from './known.ts';
import { PLANTED } from './planted.ts';
import { SOUND } from './sound.ts';

/** Whatever came in: a list of findings with places comes out, within bounds. */
function check(text: string): void {
  const lines = text.split('\n').length;
  const { findings, manifest } = validateWorkflow(text, known);
  assert.ok(findings.length <= 2_000);
  for (const { line, column, rule, cure, message, severity } of findings) {
    assert.ok(line >= 1 && line <= lines + 1 && column >= 1);
    assert.ok(rule !== '' && cure !== '' && message !== '');
    if (manifest === null) assert.equal(severity, 'error');
    else assert.equal(severity, RULES.find(({ id }) => id === rule)?.severity ?? 'warning');
  }
}

const docs: readonly Doc[] = [...SOUND, ...PLANTED].map(({ states, spec, metadata }) =>
  workflowDoc(states, spec, metadata),
);

const names = fc.constantFrom('s', 'end', 'first', '__proto__', 'constructor', 'a b', '', '{{x}}', 'toString', '0');
const words = fc.oneof(
  names,
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    '{{s.output',
    '{{#each x}}{{/each}}',
    '{{../../x}}',
    '{{lookup s "a"}}',
    '{{@root.s.score}}',
    's.score > ',
    '!!!',
    '5m',
  ),
);
const values = fc.oneof(
  words,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.array(words, { maxLength: 3 }),
  fc.dictionary(words, words, { maxKeys: 3 }),
);

describe('validateWorkflow never throws', () => {
  it('for any text', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300, unit: 'binary' }), check), {
      numRuns: sample({ normal: 30, long: 300 }),
    });
  });

  it('for any JSON document', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => check(JSON.stringify(value))),
      { numRuns: sample({ normal: 30, long: 300 }) },
    );
  });

  it('for known manifests with anything anywhere', () => {
    const places = docs.flatMap((doc, index) => leavesOf(doc).map((path) => ({ index, path })));
    const change = fc.tuple(fc.constantFrom(...places), values);
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const [first] = changes;
        let doc = docs[first?.[0].index ?? 0] ?? {};
        for (const [{ path }, value] of changes) doc = withValue(doc, path, value);
        check(stringify(doc));
      }),
      { numRuns: sample({ normal: 60, long: 600 }) },
    );
  });

  it('for known manifests with characters lost, doubled or moved', () => {
    const edit = fc.tuple(
      fc.nat(2_000),
      fc.nat(20),
      fc.constantFrom('', '{{', '}}', ':', '- ', '\n', '"', '&a', '*a', '\t'),
    );
    fc.assert(
      fc.property(fc.constantFrom(...docs), fc.array(edit, { minLength: 1, maxLength: 5 }), (doc, edits) => {
        let text = stringify(doc);
        for (const [at, length, instead] of edits) {
          const start = at % (text.length + 1);
          text = text.slice(0, start) + instead + text.slice(start + length);
        }
        check(text);
      }),
      { numRuns: sample({ normal: 40, long: 400 }) },
    );
  });

  it('for random graphs of states with any conditions', () => {
    const transition = fc.record(
      {
        target: fc.nat(9).map((index) => `s${index}`),
        condition: fc.constantFrom(...CONDITIONS),
        threshold: fc.double({ min: 0, max: 1, noNaN: true }),
        min: fc.constant(0.2),
        max: fc.double({ min: 0.2, max: 1, noNaN: true }),
        value: words,
        expression: words,
        feedback: words,
      },
      { requiredKeys: ['target', 'threshold', 'min', 'max', 'value', 'expression'] },
    );
    const state = fc.tuple(fc.constantFrom(...Object.values(STATES)), fc.array(transition, { maxLength: 4 }));
    fc.assert(
      fc.property(fc.array(state, { minLength: 10, maxLength: 10 }), (states) => {
        const all = states.map(([step, transitions], index) => [`s${index}`, { ...step, transitions }]);
        check(stringify(workflowDoc(Object.fromEntries(all)), { aliasDuplicateObjects: false }));
      }),
      { numRuns: sample({ normal: 30, long: 300 }) },
    );
  });
});

describe('the graph of a workflow', () => {
  const edges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 40 });

  it('has the components that mutual reachability makes, each after those it leads to', () => {
    fc.assert(
      fc.property(edges, (pairs) => {
        const nodes = Array.from({ length: 12 }, (_, index) => `${index}`);
        const next = (node: string) => pairs.filter(([from]) => `${from}` === node).map(([, target]) => `${target}`);
        const reach = new Map(nodes.map((node) => [node, closure(node, next)]));
        const components = componentsOf(nodes, next);
        const place = new Map(components.flatMap((members, index) => members.map((node) => [node, index] as const)));
        assert.equal(place.size, nodes.length);
        for (const a of nodes)
          for (const b of nodes) {
            const mutual = a === b || (reach.get(a)?.has(b) === true && reach.get(b)?.has(a) === true);
            assert.equal(place.get(a) === place.get(b), mutual, `${a} ${b}`);
            if (!mutual && reach.get(a)?.has(b) === true) assert.ok((place.get(a) ?? 0) > (place.get(b) ?? 0));
          }
      }),
      { numRuns: sample({ normal: 20, long: 200 }) },
    );
  });

  it('holds 1,000 states in a row without recursion', () => {
    const states = Object.fromEntries(
      Array.from({ length: 999 }, (_, index) => [
        `s${index}`,
        { ...STATES.System, transitions: [{ target: index === 998 ? 'end' : `s${index + 1}` }] },
      ]),
    );
    const { manifest, findings } = validateWorkflow(stringify(workflowDoc(states)));
    assert.ok(manifest !== null);
    assert.deepEqual(findings, []);
    const flow = flowOf(manifest);
    assert.ok(flow.precedes('s0', 's998') && !flow.precedes('s998', 's0') && flow.loops.length === 1_000);
  });
});

function closure(start: string, next: (node: string) => readonly string[]): Set<string> {
  const seen = new Set(next(start));
  for (const node of seen) for (const target of next(node)) seen.add(target);
  return seen;
}

/** Paths of everything in a document, containers too. */
function leavesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return path === '' ? [] : [path];
  const inner = Object.entries(value).flatMap(([key, child]) =>
    key.includes('.') || key === '' ? [] : leavesOf(child, path === '' ? key : `${path}.${key}`),
  );
  return path === '' ? inner : [path, ...inner];
}
