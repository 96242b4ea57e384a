import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { builtInOffer, outputSchema } from '../../../tools/tool-granter.ts';
import { ARGUMENT_ROWS } from './argument-rows.ts';
import { MANAGEMENT_ARGUMENTS, TAKEN_AS } from './argument-table.ts';
import { SVC_CONTRACTS } from './published.ts';

const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
const grant = {
  ...{ security_context: 'svc-system-operator', deny_list: [], capabilities: [{ tool_pattern: '*' }] },
  ...{ manifest: null, network: null, filesystem: null },
  tools: SVC_CONTRACTS.map(builtInOffer),
};

const decide = (name: string, given: unknown) => policy.decide(grant, { name, arguments: given });

function refused(name: string, given: unknown, field: string): void {
  const decision = decide(name, given);
  assert.ok(!decision.allowed, `${name} ${JSON.stringify(given).slice(0, 100)}`);
  assert.equal(decision.reason, 'InvalidArguments', decision.message);
  assert.ok(decision.message.startsWith(`${name}: ${field}`), decision.message);
}

const without = (given: Readonly<Record<string, unknown>>, field: string) =>
  Object.fromEntries(Object.entries(given).filter(([key]) => key !== field));

test('the table has every tool svc.*', () => {
  assert.deepEqual(SVC_CONTRACTS.map(({ name }) => name).sort(), Object.keys(MANAGEMENT_ARGUMENTS).sort());
});

for (const [name, { right, required, wrong }] of Object.entries(MANAGEMENT_ARGUMENTS)) {
  describe(name, () => {
    const contract = TOOL_CONTRACTS.get(name);
    assert.ok(contract !== undefined);
    const properties = z.record(z.string(), z.unknown()).parse(builtInOffer(contract).input_schema.properties);

    test('has exactly the arguments of the table, and null is absent', () => {
      assert.ok(decide(name, right).allowed);
      assert.deepEqual(builtInOffer(contract).input_schema.required ?? [], required);
      assert.deepEqual(Object.keys(properties).sort(), [...new Set([...required, ...Object.keys(wrong)])].sort());
      for (const key of Object.keys(properties)) {
        if (!required.includes(key)) assert.ok(decide(name, { ...right, [key]: null }).allowed, key);
      }
    });

    test('names the argument that is missing, null, wrong or unknown', () => {
      for (const field of required) {
        refused(name, { ...right, [field]: null }, field);
        refused(name, without(right, field), field);
      }
      for (const [field, values] of Object.entries(wrong)) {
        for (const value of values) refused(name, { ...right, [field]: value }, field);
      }
      refused(name, { ...right, path_: 1 }, 'path_');
      for (const given of [null, [], 'x', 1]) refused(name, given, 'arguments');
    });

    test('publishes what it answers as an object', () => {
      assert.equal(outputSchema(name)?.type, 'object');
    });
  });
}

test(`${ARGUMENT_ROWS.length} rows, made of the published schemas, are decided as they say`, () => {
  for (const { tool, argument, rule, args, isRefused } of ARGUMENT_ROWS) {
    if (isRefused) refused(tool, args, argument);
    else assert.ok(decide(tool, args).allowed, `${tool} ${argument} ${rule}`);
  }
});

test('absent arguments have the defaults of the specification, and what is above a cap is capped', () => {
  for (const [name, given, taken] of TAKEN_AS) {
    const decision = decide(name, given);
    assert.ok(decision.allowed, name);
    assert.deepEqual({ ...decision.arguments, ...taken }, decision.arguments, `${name} ${JSON.stringify(given)}`);
  }
});
