import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRunning } from '../../../actors/workflow/state.ts';
import { type WaitReason, waitReason } from '../../../actors/workflow/waiting.ts';
import type { EffectRow } from '../../../runtime/effect-ledger.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, single } from './rig.ts';

const served = { isServed: () => Promise.resolve(true) };

function begun(state: JsonObject, spec: JsonObject = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(single(state, { spec }));
  return run;
}

async function reason(
  run: DrivenWorkflow,
  more: { readonly rows?: readonly Partial<EffectRow>[]; readonly client?: typeof served } = {},
): Promise<WaitReason> {
  const { view } = run;
  assert.ok(isRunning(view));
  const base = { queue: 'q', address: run.address, mode: 'once', runner: '', until: 0, attempt: 0 } as const;
  const rows = (more.rows ?? []).map((row): EffectRow => ({ ...base, id: run.effect.id, status: 'open', ...row }));
  return waitReason(more.client ?? served, view, { stuck: null }, () => Promise.resolve(rows), run.address);
}

const CONTAINER = { kind: 'ContainerRun', image: 'alpine', command: ['true'] };
const { kind: _kind, ...image } = CONTAINER;
const ROWS: readonly (readonly [string, JsonObject, WaitReason['kind']])[] = [
  ['an agent', { kind: 'Agent', agent: 'a' }, 'child'],
  ['a command', { kind: 'System', command: 'true' }, 'effect'],
  ['a human', { kind: 'Human', prompt: '?' }, 'approval'],
  ['judges', { kind: 'ParallelAgents', agents: [{ agent: 'a' }], consensus: { strategy: 'majority' } }, 'judges'],
  ['a container', CONTAINER, 'effect'],
  ['containers', { kind: 'ParallelContainerRun', steps: [{ ...image, name: 's' }] }, 'effect'],
  ['a child workflow', { kind: 'Subworkflow', workflow_id: 'c' }, 'child'],
];

for (const [what, state, kind] of ROWS) {
  test(`a run that waits for ${what} says so, in which state, and until when`, async () => {
    const run = begun({ ...state, timeout: '10m' });
    const told = await reason(run);
    assert.deepEqual([told.kind, told.state_name], [kind, 'STEP']);
    assert.equal(told.until, new Date(run.now + 600_000).toISOString());
    if (kind === 'child') assert.deepEqual(told.child_execution_ids, [run.awaitedId]);
    if (kind === 'approval') assert.equal(told.approval_id, run.awaitedId);
  });
}

test('an effect is shown with its attempt: nobody has it, it runs somewhere, or it is tried again at a time', async () => {
  const run = begun({ kind: 'System', command: 'true' });
  const of = async (row: Partial<EffectRow>) => (await reason(run, { rows: [row] })).effects?.[0];
  const effect = { effect_id: run.effect.id, kind: 'command.run' };
  assert.deepEqual(await of({}), { ...effect, status: 'open', attempt: 0 });
  const started = { status: 'started', attempt: 2, runner: 'n1/x' } as const;
  assert.deepEqual(await of(started), { ...effect, ...started });
  assert.deepEqual(await of({ attempt: 1, until: 1_000 }), {
    ...effect,
    status: 'retrying',
    attempt: 1,
    retry_at: '1970-01-01T00:00:01.000Z',
  });
});

test('a pause between attempts of a container is a timer', async () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 2, backoff: '30s' } });
  run.exit(1);
  const told = await reason(run);
  assert.deepEqual([told.kind, told.until], ['timer', new Date(run.now + 30_000).toISOString()]);
  assert.equal(told.effects, undefined);
});

test('before the first state it waits for its volumes', async () => {
  const run = begun({ kind: 'System', command: 'true' }, { storage: { workspace: {} } });
  const told = await reason(run);
  assert.deepEqual([told.kind, told.state_name], ['volumes', undefined]);
});

test('a message that keeps failing, and a fleet without workers, come before what the state waits for', async () => {
  const run = begun({ kind: 'System', command: 'true' });
  const client = { isServed: () => Promise.resolve(false) };
  assert.equal((await reason(run, { client })).kind, 'node');
  const { view } = run;
  assert.ok(isRunning(view));
  const stuck = { messageType: 'CommandEnded', error: 'boom', attempts: 2 };
  const told = await waitReason(served, view, { stuck }, undefined, run.address);
  assert.equal(told.kind, 'turn');
  assert.match(told.reason, /CommandEnded keeps failing: boom/);
});
