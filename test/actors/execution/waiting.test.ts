import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActorSnapshot } from '../../../runtime/client.ts';
import type { EffectRow } from '../../../runtime/effect-ledger.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { executionWait, waitingFor } from '../../../usecases/waits/execution-wait.ts';
import type { WaitLookups, WaitReason } from '../../../usecases/waits/wait-reason.ts';
import { DrivenExecution, manifestOf, programOf } from './driven-execution.ts';

/** Only the pool of no tags, and of those in `tags`, is served. */
const lookups = (pools: readonly string[] = ['default']) => ({
  client: {
    isServed: (pool: string) => Promise.resolve(pools.includes(pool)),
    read: () => Promise.resolve(null),
  },
});

function begun(manifest = manifestOf()): DrivenExecution {
  const run = new DrivenExecution();
  run.start(manifest);
  return run;
}

async function reason(
  run: DrivenExecution,
  more: Omit<WaitLookups, 'client'> & { readonly stuck?: ActorSnapshot['stuck'] } = {},
): Promise<WaitReason> {
  const { view } = run;
  assert.ok(view.status === 'running');
  const { stuck = null, ...asked } = more;
  return executionWait({ ...lookups(), ...asked }, view, { stuck }, run.address);
}

const rowsOf = (run: DrivenExecution, row: Partial<EffectRow>) => async (): Promise<readonly EffectRow[]> => {
  const base = { queue: 'q', mode: 'once', runner: '', until: 0, attempt: 0, status: 'open' } as const;
  return [
    { ...base, address: run.address, id: 'another' },
    { ...base, address: run.address, id: run.effectId, ...row },
  ];
};

const NEXT = '1970-01-01T00:00:01.000Z';
const ROWS: readonly (readonly [string, Partial<EffectRow>, JsonObject, string])[] = [
  ['that no node has begun', {}, { status: 'open', attempt: 0 }, ', which no node has begun'],
  [
    'whose third attempt runs',
    { status: 'started', attempt: 3, runner: 'n1/uuid' },
    { status: 'started', attempt: 3, runner: 'n1/uuid' },
    ', attempt 3 on node n1',
  ],
  [
    'that is tried again at a time',
    { attempt: 1, until: 1_000 },
    { status: 'retrying', attempt: 1, retry_at: NEXT },
    `, attempt 2 begins at ${NEXT}`,
  ],
  [
    'that is tried again, and why',
    { attempt: 1, until: 1_000, lastError: { code: 'model_unavailable', message: 'it answered 503' } },
    {
      status: 'retrying',
      attempt: 1,
      retry_at: NEXT,
      last_error: { code: 'model_unavailable', message: 'it answered 503' },
    },
    `, attempt 2 begins at ${NEXT}; attempt 1 failed: model_unavailable: it answered 503`,
  ],
  [
    'whose second attempt runs, and why it is the second',
    {
      status: 'started',
      attempt: 2,
      runner: 'n1/uuid',
      lastError: { code: 'model_unavailable', message: 'Bearer abcdefghijklmnop' },
    },
    {
      status: 'started',
      attempt: 2,
      runner: 'n1/uuid',
      last_error: { code: 'model_unavailable', message: '[redacted]' },
    },
    ', attempt 2 on node n1; attempt 1 failed: model_unavailable: [redacted]',
  ],
  ['that has been answered', { id: 'settled' }, { status: 'answered', attempt: 0 }, ', which has answered'],
];

for (const [what, row, effect, text] of ROWS) {
  test(`a running execution names its model ${what}`, async () => {
    const run = begun();
    const told = await reason(run, { effects: rowsOf(run, row) });
    assert.equal(told.kind, 'effect');
    assert.equal(told.reason, `iteration 1 waits for its model${text}`);
    assert.deepEqual(told.effects, [{ effect_id: run.effectId, kind: 'model.generate', ...effect }]);
  });
}

test('an agent that is a program waits for program.run', async () => {
  const run = begun(programOf());
  const told = await reason(run, { effects: rowsOf(run, { status: 'started', attempt: 1, runner: 'n1/u' }) });
  assert.equal(told.reason, 'iteration 1 waits for its program, attempt 1 on node n1');
  assert.equal(told.effects?.[0]?.kind, 'program.run');
});

test('it waits until the time-out of its iteration, or of the execution when that comes first', async () => {
  const { plan } = (({ view }) => {
    assert.ok(view.status === 'running');
    return view;
  })(begun());
  const run = begun();
  const least = Math.min(plan.iteration_timeout_ms, plan.execution_timeout_ms);
  assert.equal((await reason(run)).until, new Date(run.now + least).toISOString());
  const { view } = run;
  assert.ok(view.status === 'running');
  const short = { ...view, plan: { ...view.plan, execution_timeout_ms: 1_000 } };
  const told = await executionWait(lookups(), short, { stuck: null }, run.address);
  assert.equal(told.until, new Date(run.now + 1_000).toISOString());
});

test('a missing node of its pool is reported before the effect, with the missing tags', async () => {
  const run = begun();
  const told = await reason(run, { poolOf: () => Promise.resolve('+a100+gpu') });
  assert.deepEqual(told, { kind: 'node', tags: ['a100', 'gpu'], reason: 'waiting for a node with tags a100, gpu' });
});

test('a message that keeps failing is reported before all other causes', async () => {
  const told = await reason(begun(), { stuck: { messageType: 'ModelAnswered', error: 'boom', attempts: 2 } });
  assert.deepEqual(told, { kind: 'turn', reason: 'ModelAnswered keeps failing: boom' });
});

test('a pending one waits for a node only while none with its tags is there', async () => {
  const pending = { status: 'pending', waiting_tags: ['gpu'] } as const;
  const reasonOf = (pools: readonly string[], document: object) =>
    waitingFor(lookups(pools).client, { ...DOCUMENT, ...document });
  assert.deepEqual(await reasonOf(['default'], pending), {
    kind: 'node',
    tags: ['gpu'],
    reason: 'waiting for a node with tags gpu',
  });
  assert.equal(await reasonOf(['+gpu'], pending), undefined);
  assert.equal(await reasonOf([], { ...pending, status: 'running' }), undefined);
  const nobody = await reasonOf([], { ...pending, waiting_tags: [] });
  assert.equal(nobody?.reason, 'waiting for a worker');
});

const DOCUMENT: Parameters<typeof waitingFor>[1] = {
  tenant: 'acme',
  id: 'x',
  version: 0,
  agent_id: 'a',
  agent_name: 'a',
  agent_version: '1.0.0',
  status: 'pending',
  iteration_count: 0,
  started_at: '',
  ended_at: null,
  updated_at: '',
  last_error: null,
  last_output: null,
  reason: null,
  usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
  in_doubt: 0,
  workflow_execution_id: null,
  removed: false,
};
