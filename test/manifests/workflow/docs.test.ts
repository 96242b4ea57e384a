import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { ERROR_CURES, validateWorkflow } from '../../../catalog/manifest-work.ts';
import { RULES } from '../../../manifests/workflow/check/check-workflow.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import { CONDITIONS } from '../../../manifests/workflow/transition.ts';
import { codeBlocks, fieldsOf, tableRows } from '../schema-fields.ts';
import { STATES, valueAt } from './document.ts';

const page = readFileSync(new URL('../../../docs/reference/workflow-manifest.md', import.meta.url), 'utf8');
const schema = workflowJsonSchema();

const section = (title: string): string => page.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? '';
const rows = (title: string) => Object.fromEntries(tableRows(section(title)));
const expected = (of: unknown): Record<string, string> =>
  Object.fromEntries(
    fieldsOf(of).map(({ path, fallback, required }) => [path, required ? 'required' : fallback || 'none']),
  );

const states = valueAt(schema, 'properties.spec.properties.states.additionalProperties');
const branches = valueAt(states, 'oneOf') ?? valueAt(states, 'anyOf');

function branchOf(kind: string): unknown {
  assert.ok(Array.isArray(branches));
  return branches.find((branch) => valueAt(branch, 'properties.kind.const') === kind);
}

const isCommon = (path: string): boolean => /^(kind|timeout|transitions)\b/.test(path);

describe('docs/reference/workflow-manifest.md', () => {
  it('shows every field of the head with its default, and no other', () => {
    assert.deepEqual(rows('Head and spec'), expected(schema));
  });

  it('shows every field that all states have', () => {
    const agent = Object.entries(expected(branchOf('Agent')));
    const common = agent.filter(([path]) => isCommon(path) || path.startsWith('volumes'));
    assert.deepEqual(rows('Every state'), Object.fromEntries(common));
  });

  for (const kind of Object.keys(STATES))
    it(`shows every field of ${kind} with its default, and no other`, () => {
      const own = Object.entries(expected(branchOf(kind))).filter(
        ([path]) => !isCommon(path) && (kind === 'ContainerRun' || !path.startsWith('volumes')),
      );
      assert.deepEqual(rows(kind), Object.fromEntries(own));
    });

  it('shows every condition', () => {
    assert.deepEqual(Object.keys(rows('Conditions')), [...CONDITIONS]);
  });

  it('shows every rule of the checker with its severity, and no other', () => {
    const errors = Object.keys(ERROR_CURES).map((rule) => [rule, 'error']);
    const warnings = RULES.map(({ id, severity = 'warning' }) => [id, severity]);
    assert.deepEqual(rows('Checker'), Object.fromEntries([...errors, ...warnings]));
  });

  it('shows manifests without a finding, that the JSON Schema takes too', () => {
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    const examples = codeBlocks(page, 'yaml');
    assert.ok(examples.length > 0);
    for (const example of examples) {
      assert.deepEqual(validateWorkflow(example).findings, []);
      assert.ok(accepts(parse(example)), JSON.stringify(accepts.errors));
    }
  });

  it('names the key of the JSON Schema', () => assert.ok(page.includes(WORKFLOW_MANIFEST_KEY)));
});
