import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { BUILT_IN, TOOL_CONTRACTS } from '../../tools/contracts.ts';
import { MANAGEMENT_CONTRACTS } from '../../tools/management/contracts.ts';
import { builtInOffer } from '../../tools/tool-granter.ts';
import { ARGUMENTS } from './argument-table.ts';
import { type ToolsUnderTest, toolsUnderTest } from './granted-tools.ts';

const contractOf = (name: string) => {
  const contract = TOOL_CONTRACTS.get(name);
  assert.ok(contract !== undefined, name);
  return contract;
};

let bench: ToolsUnderTest;
before(async () => {
  bench = await toolsUnderTest();
});
after(async () => bench[Symbol.asyncDispose]());

/** Refused before anything is run, naming tool and argument. */
function refused(name: string, given: unknown, field: string): void {
  const decision = bench.policy.decide(bench.grant, { name, arguments: given });
  assert.ok(!decision.allowed, `${name} ${JSON.stringify(given).slice(0, 100)}`);
  assert.equal(decision.reason, 'InvalidArguments', decision.message);
  assert.ok(decision.message.startsWith(`${name}: ${field}`), decision.message);
}

test('the table has every built-in tool but those of management, which have their own', () => {
  const management = new Set<string>(MANAGEMENT_CONTRACTS.map(({ name }) => name));
  const others = BUILT_IN.map(({ name }) => name).filter((name) => !management.has(name));
  assert.deepEqual(others.sort(), Object.keys(ARGUMENTS).sort());
});

for (const [name, { right, required, wrong }] of Object.entries(ARGUMENTS)) {
  describe(name, () => {
    test('accepts valid arguments; optional ones may be absent or null', () => {
      const { input } = contractOf(name);
      const schema: unknown = builtInOffer(contractOf(name)).input_schema.properties;
      assert.ok(input.safeParse(right).success);
      for (const key of Object.keys(z.record(z.string(), z.unknown()).parse(schema))) {
        if (!required.includes(key)) assert.ok(input.safeParse({ ...right, [key]: null }).success, key);
      }
    });

    test('refuses a required argument that is missing or null', () => {
      for (const field of required) {
        refused(name, { ...right, [field]: null }, field);
        refused(name, Object.fromEntries(Object.entries(right).filter(([key]) => key !== field)), field);
      }
      assert.deepEqual(builtInOffer(contractOf(name)).input_schema.required ?? [], required);
    });

    test('refuses an argument of the wrong type or out of bounds', () => {
      for (const [field, values] of Object.entries(wrong)) {
        for (const value of values) refused(name, { ...right, [field]: value }, field);
      }
    });

    test('refuses an argument it does not know, and what is no object', () => {
      refused(name, { ...right, path_: 1 }, 'path_');
      for (const given of [null, [], 'x', 1]) refused(name, given, 'arguments');
    });
  });
}

test('defaults are those of the specification', () => {
  const defaults = (name: string, given: object): unknown => contractOf(name).input.parse(given);
  assert.deepEqual(defaults('fs.list', {}), { path: '/' });
  assert.deepEqual(defaults('fs.delete', { path: 'a' }), { path: 'a', recursive: false });
  assert.deepEqual(defaults('web.search', { query: 'x' }), { query: 'x', max_results: 10 });
  assert.deepEqual(defaults('web.fetch', { url: 'http://a' }), {
    ...{ url: 'http://a', to_markdown: true, follow_redirects: true, timeout_secs: 30 },
  });
  assert.deepEqual(defaults('cmd.run', { command: 'ls' }), { command: 'ls', args: [] });
});

test('a schema hash changes with name, description and schema, and with nothing else', () => {
  const hashes = BUILT_IN.map((contract) => builtInOffer(contract).schema_hash);
  assert.equal(new Set(hashes).size, hashes.length);
  assert.deepEqual(
    hashes,
    BUILT_IN.map((contract) => builtInOffer({ ...contract }).schema_hash),
  );
  const [first] = BUILT_IN;
  assert.ok(first !== undefined);
  assert.notEqual(builtInOffer({ ...first, description: 'other' }).schema_hash, hashes[0]);
});
