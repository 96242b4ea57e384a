import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRunning } from '../../../actors/workflow/state.ts';
import type { ActorSnapshot } from '../../../runtime/client.ts';
import type { EffectRow } from '../../../runtime/effect-ledger.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import type { WaitReason } from '../../../usecases/waits/wait-reason.ts';
import { type WorkflowWaitLookups, waitReason } from '../../../usecases/waits/workflow-wait.ts';
import { DrivenPanel } from '../judge-panel/driven-panel.ts';
import { DrivenWorkflow, single } from './driven-workflow.ts';

const served: WorkflowWaitLookups['client'] = {
  isServed: () => Promise.resolve(true),
  read: () => Promise.resolve(null),
};

function begun(state: JsonObject, spec: JsonObject = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(single(state, { spec }));
  return run;
}

interface More extends Partial<WorkflowWaitLookups> {
  readonly rows?: readonly Partial<EffectRow>[];
  readonly stuck?: ActorSnapshot['stuck'];
}

async function reason(run: DrivenWorkflow, { rows, stuck = null, ...more }: More = {}): Promise<WaitReason> {
  const { view } = run;
  assert.ok(isRunning(view));
  const base = { queue: 'q', address: run.address, mode: 'once', runner: '', until: 0, attempt: 0 } as const;
  const found = rows?.map((row): EffectRow => ({ ...base, id: run.effect.id, status: 'open', ...row }));
  const effects = found === undefined ? {} : { effects: () => Promise.resolve(found) };
  return waitReason({ client: served, ...effects, ...more }, view, { stuck }, run.address);
}

const CONTAINER = { kind: 'ContainerRun', image: 'alpine', command: ['true'] };
const { kind: _kind, ...image } = CONTAINER;
const JUDGES = { kind: 'ParallelAgents', agents: [{ agent: 'a' }], consensus: { strategy: 'majority' } };
const ROWS: readonly (readonly [string, JsonObject, WaitReason['kind'], string])[] = [
  ['an agent', { kind: 'Agent', agent: 'a' }, 'child', 'starting an agent, which no node has begun'],
  ['a command', { kind: 'System', command: 'true' }, 'effect', 'waiting for a command, which no node has begun'],
  ['a human', { kind: 'Human', prompt: '?' }, 'approval', 'its approval is being opened'],
  ['judges', JUDGES, 'judges', '1 judge is being convened'],
  ['a container', CONTAINER, 'effect', 'waiting for run 1 of its container, which no node has begun'],
  [
    'containers',
    { kind: 'ParallelContainerRun', steps: [{ ...image, name: 's' }] },
    'effect',
    'waiting for the containers of s',
  ],
  [
    'a child workflow',
    { kind: 'Subworkflow', workflow_id: 'c' },
    'child',
    'starting a child workflow, which no node has begun',
  ],
];

for (const [what, state, kind, text] of ROWS) {
  test(`a run that waits for ${what} says so, in which state, and until when`, async () => {
    const run = begun({ ...state, timeout: '10m' });
    const told = await reason(run);
    assert.deepEqual([told.kind, told.state_name], [kind, 'STEP']);
    assert.equal(told.reason, text);
    assert.equal(told.until, new Date(run.now + 600_000).toISOString());
    if (kind === 'child') assert.deepEqual(told.child_execution_ids, [run.awaitedId]);
    if (kind === 'approval') assert.equal(told.approval_id, run.awaitedId);
  });
}

const NEXT = '1970-01-01T00:00:01.000Z';
const EFFECTS: readonly (readonly [string, Partial<EffectRow> | null, JsonObject, string])[] = [
  ['no node has begun', {}, { status: 'open', attempt: 0 }, ', which no node has begun'],
  [
    'runs somewhere',
    { status: 'started', attempt: 2, runner: 'n1/x' },
    { status: 'started', attempt: 2, runner: 'n1/x' },
    ', attempt 2 on node n1',
  ],
  [
    'is tried again at a time',
    { attempt: 1, until: 1_000 },
    { status: 'retrying', attempt: 1, retry_at: NEXT },
    `, attempt 2 begins at ${NEXT}`,
  ],
  ['has been answered', null, { status: 'answered', attempt: 0 }, ', which has answered'],
];

for (const [what, row, expected, text] of EFFECTS) {
  test(`an effect that ${what} is shown so, with its attempt`, async () => {
    const run = begun({ kind: 'System', command: 'true' });
    const told = await reason(run, { rows: row === null ? [] : [row] });
    assert.deepEqual(told.effects, [{ effect_id: run.effect.id, kind: 'command.run', ...expected }]);
    assert.equal(told.reason, `waiting for a command${text}`);
  });
}

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

test('judges that have not answered are named with their executions, in the order they were asked', async () => {
  const panel = new DrivenPanel();
  panel.convene({ judges: 3 });
  panel.started(0);
  panel.started(1);
  panel.word(0, 'running');
  panel.word(1, 'completed', { output: '{"score": 1, "confidence": 1, "reasoning": "fine"}' });
  const run = begun({ ...JUDGES, agents: [{ agent: 'a' }, { agent: 'b' }, { agent: 'c' }] });
  const snapshot = { revision: 1, lastEvent: 1, archived: false, timers: [], stuck: null, state: panel.view };
  const read = (address: ActorSnapshot['address']) => {
    assert.equal(address, `judge-panel/acme/${run.awaitedId}`);
    return Promise.resolve({ ...snapshot, address });
  };
  const told = await reason(run, { client: { ...served, read } });
  assert.equal(told.reason, 'waiting for 2 of 3 judges: judge-0, judge-2');
  assert.deepEqual(told.judges, [
    { agent: 'judge-0', execution_id: panel.seat(0).execution_id, status: 'judging' },
    { agent: 'judge-2', execution_id: panel.seat(2).execution_id, status: 'asked' },
  ]);
});

const CHILDREN = [
  ['agent', { kind: 'Agent', agent: 'a' }, 'waiting for an agent'],
  ['child', { kind: 'Subworkflow', workflow_id: 'c' }, 'waiting for a child workflow'],
] as const;

for (const [whom, state, text] of CHILDREN) {
  test(`${text}, the answer includes its own wait`, async () => {
    const run = begun(state);
    const own = { kind: 'approval', reason: 'waiting for a human', approval_id: 'x' } as const;
    const asked: unknown[] = [];
    const told = await reason(run, {
      childWait(...of) {
        asked.push(of);
        return Promise.resolve(own);
      },
    });
    assert.deepEqual(asked, [[whom, 'acme', run.awaitedId]]);
    assert.deepEqual([told.kind, told.reason, told.child], ['child', text, own]);
    const gone = await reason(run, { childWait: () => Promise.resolve(undefined) });
    assert.ok(!('child' in gone));
  });
}

test('a message that keeps failing, and a fleet without workers, come before what the state waits for', async () => {
  const run = begun({ kind: 'System', command: 'true' });
  const client = { ...served, isServed: () => Promise.resolve(false) };
  const unserved = await reason(run, { client });
  assert.deepEqual([unserved.kind, unserved.reason, unserved.tags], ['node', 'waiting for a worker', []]);
  const told = await reason(run, { stuck: { messageType: 'CommandEnded', error: 'boom', attempts: 2 } });
  assert.equal(told.kind, 'turn');
  assert.match(told.reason, /CommandEnded keeps failing: boom/);
});
