import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { executionEvents } from '../../../actors/execution/events.ts';
import { executionMessages } from '../../../actors/execution/messages.ts';
import { ExecutionState } from '../../../actors/execution/state.ts';
import { cachedSchema, jsonField, jsonObjectField } from '../../../runtime/json.ts';
import { compiledWhenHot, hot } from '../../../runtime/kit/hot-schema.ts';

const Plan = z.object({ steps: z.array(z.string()), config: jsonObjectField });

const State = z.discriminatedUnion('status', [
  z.object({ status: z.literal('pending') }),
  z.object({
    status: z.enum(['running', 'held']),
    name: z.string().min(1).max(5),
    note: z.string().optional(),
    late: z.string().nullable(),
    tags: z.array(z.string()).default([]),
    variables: z.record(z.string(), jsonField),
    plan: cachedSchema(Plan),
    count: z.number().int().nonnegative(),
  }),
]);

const plan = { steps: ['a'], config: { deep: { list: [1] } }, more: 'is dropped' };
const running = { status: 'running', name: 'one', late: null, variables: { b: 1, a: null }, plan, count: 0 };

const VALUES: readonly unknown[] = [
  { status: 'pending', other: 1 },
  running,
  { ...running, note: undefined, tags: ['x'] },
  { note: 'n', ...running },
  { ...running, name: '' },
  { ...running, count: -1.5, late: 3 },
  { ...running, plan: { steps: 'a' } },
  { ...running, variables: { a: undefined } },
  { status: 'ended' },
  null,
  'running',
];

/** With the order of members, members that are undefined, and every issue. */
const told = ({ success, data, error }: { success: boolean; data?: unknown; error?: z.ZodError | undefined }): string =>
  JSON.stringify([success, data, error?.issues], (_key, value) => (value === undefined ? 'undefined' : value));

describe('schemas that are used often', () => {
  it('give the same results and refusals before and after they are compiled', () => {
    const first = VALUES.map((value) => told(State.safeParse(value)));
    for (let round = 0; round < 60; round += 1)
      assert.deepEqual(
        VALUES.map((value) => told(hot(State).safeParse(value))),
        first,
      );
    assert.notEqual(hot(State), State);
  });

  it('that cannot be compiled stay as they are', () => {
    const Recursive = z.object({ value: z.json() });
    const current = compiledWhenHot(Recursive);
    for (let use = 0; use < 100; use += 1) assert.equal(current(), Recursive);
  });

  it('of executions can be compiled: their state, messages and events', () => {
    const schemas = { state: ExecutionState, ...executionMessages, ...executionEvents };
    for (const [name, schema] of Object.entries(schemas))
      assert.doesNotThrow(() => z.compile<z.ZodType>(schema, { strict: true }), name);
  });
});
