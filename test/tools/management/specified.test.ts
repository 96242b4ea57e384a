import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outputSchema } from '../../../tools/tool-granter.ts';
import { SPECIFIED_TOOLS } from '../specified-tools.ts';
import { ARGUMENT_ROWS } from './argument-rows.ts';
import { TAKEN_AS } from './argument-table.ts';
import { contractOf, inputOf, type Schema, SVC_CONTRACTS, schemaOf } from './published.ts';
import { MANAGEMENT_ROWS } from './rows.ts';
import { SPECIFIED_TABLES } from './specified-tables.ts';

const ARGUMENTS = Object.entries(SPECIFIED_TABLES).flatMap(([tool, { arguments: of }]) =>
  Object.entries(of).map(([argument, specified]) => ({ tool, argument, specified })),
);

const branchesOf = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [schema];

/** Whether a result of the schema has the field, `list[].field` in what the list holds. */
function hasField(schema: Schema, field: string): boolean {
  const [name = '', ...rest] = field.split('[].');
  const found = schema.properties?.[name];
  if (found === undefined || !(schema.required ?? []).includes(name)) return false;
  const [inner] = rest;
  return inner === undefined || (found.items !== undefined && hasField(found.items, inner));
}

test('the tables have every tool svc.* of the specification, and each is there', () => {
  const specified = Object.values(SPECIFIED_TOOLS)
    .flatMap((table) => Object.keys(table))
    .filter((name) => name.startsWith('svc.'))
    .sort();
  assert.deepEqual(Object.keys(SPECIFIED_TABLES).sort(), specified);
  assert.deepEqual(SVC_CONTRACTS.map(({ name }) => name).sort(), specified);
});

describe(`${ARGUMENTS.length} arguments of ${Object.keys(SPECIFIED_TABLES).length} tools`, () => {
  for (const [tool, { arguments: specified, results }] of Object.entries(SPECIFIED_TABLES)) {
    test(`${tool} takes the arguments of its table, and answers with its fields`, () => {
      const { properties = {}, required = [] } = inputOf(contractOf(tool));
      assert.deepEqual(Object.keys(properties).sort(), Object.keys(specified).sort());
      for (const [argument, rule] of Object.entries(specified)) {
        const said = `${tool} ${argument}`;
        const schema = properties[argument] ?? assert.fail(said);
        assert.equal(schema.type, rule.type, said);
        assert.equal(required.includes(argument), rule.required === true, said);
        assert.deepEqual(schema.default, rule.default, said);
        assert.deepEqual(schema.enum, rule.oneOf, said);
        if (rule.min !== undefined) assert.equal(schema.minimum, rule.min, said);
        if (rule.max !== undefined) assert.equal(schema.maximum, rule.max, said);
        if (rule.cap !== undefined) {
          const capped = TAKEN_AS.find(([name, given]) => name === tool && Object.hasOwn(given, argument));
          assert.equal(Object(capped?.[2])[argument], rule.cap, `${said} is capped`);
        }
      }
      const branches = branchesOf(schemaOf(outputSchema(tool)));
      for (const fields of results) {
        const isThere = branches.some((branch) => fields.every((field) => hasField(branch, field)));
        assert.ok(isThere, `${tool}: ${fields}`);
      }
    });
  }

  test('each has rows that break its rules, and each tool rows of what it does', () => {
    for (const { tool, argument, specified } of ARGUMENTS) {
      const rules = ARGUMENT_ROWS.filter((row) => row.tool === tool && row.argument === argument && row.isRefused);
      const names = rules.map(({ rule }) => rule);
      assert.ok(
        names.some((rule) => rule.includes(`instead of ${specified.type}`)),
        `${tool} ${argument}: wrong type`,
      );
      const expected = [
        ...(specified.required ? ['missing', 'null'] : []),
        ...(specified.oneOf === undefined ? [] : ['not one of the list']),
        ...(specified.min === undefined ? [] : [`below ${specified.min}`]),
        ...(specified.max === undefined ? [] : [`above ${specified.max}`]),
      ];
      for (const rule of expected) assert.ok(names.includes(rule), `${tool} ${argument}: ${rule}`);
    }
    const behaving = new Set(MANAGEMENT_ROWS.map(({ tool }) => tool));
    assert.deepEqual([...behaving].sort(), Object.keys(SPECIFIED_TABLES).sort());
  });
});
