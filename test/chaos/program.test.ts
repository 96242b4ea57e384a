import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressOf } from '../../runtime/address.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { flaky, ProgramState, program } from './program.ts';
import { differenceOf, endOf, planPrograms } from './program-plan.ts';

test('the result of programs does not depend on their order', () => {
  fc.assert(
    fc.property(fc.nat(), fc.infiniteStream(fc.nat()), (seed, order) => {
      const { programs, expected } = planPrograms({ programs: 12, actors: 5, seed });
      const ranks = new Map(programs.map((one) => [one, order.next().value ?? 0]));
      const shuffled = [...programs].sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
      const ends = endOf(shuffled);
      return [...expected].every(([actor, end]) => JSON.stringify(ends.get(actor)) === JSON.stringify(end));
    }),
    { numRuns: 50 },
  );
});

test('one seed gives one plan', () => {
  const options = { programs: 20, actors: 10, seed: 3 };
  assert.deepEqual(planPrograms(options), planPrograms(options));
});

test('programs on a node without faults end with the precomputed result', { timeout: 300_000 }, async () => {
  const node = await startKernelNode({ definitions: [program], handlers: [flaky] });
  try {
    const { client } = node.runtime;
    const { programs, expected } = planPrograms({ programs: 150, actors: 60, seed: 5 });
    const to = (actor: string) => addressOf('program', 'acme', actor);
    const runs = programs.map(({ id, actor, commands }) =>
      client.ask(to(actor), 'Run', { program: id, commands: [...commands] }),
    );
    await Promise.all(runs);
    for (const [actor, end] of expected) {
      await waitUntil(`${actor} to be ${JSON.stringify(end)}`, async () => {
        const state = (await client.read(to(actor)))?.state;
        return differenceOf(end, ProgramState.parse(state)) === null;
      });
    }
    assert.deepEqual(node.warnings, []);
  } finally {
    await node.stop();
  }
});

test('a lost and a repeated message show as a difference', () => {
  const [expected] = planPrograms({ programs: 1, actors: 1, seed: 1 }).expected.values();
  assert.ok(expected !== undefined);
  const state = { ...expected, running: {} };
  assert.equal(differenceOf(expected, state), null);
  assert.match(differenceOf(expected, { ...state, total: state.total + 1 }) ?? '', /expected \{/);
  assert.match(differenceOf(expected, { ...state, ended: 0 }) ?? '', /expected \{/);
  assert.match(differenceOf(expected, null) ?? '', /expected \{/);
});
