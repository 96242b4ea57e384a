import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../actors/workflow/limits.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { WorkflowLogged } from '../support/workflow-kill-calls.ts';
import { hitsIn, type KilledRun, SparedRuns } from '../support/workflow-kill-limits.ts';

const MOST = LIMITS.inDoubtRepeats;
const LATER_MS = 1_000;

/** A log with one event a second from the Unix epoch on; states may have a kind, children an id. */
const logOf = (...events: readonly string[]): WorkflowLogged[] =>
  events.map((event, index) => {
    const [event_type = '', about = 'System'] = event.split(' ');
    return {
      ...{ sequence: index + 1, event_type, state_name: 'STEP' },
      payload: { [event_type === 'SubworkflowTriggered' ? 'child_execution_id' : 'kind']: about },
      recorded_at: new Date(index * LATER_MS).toISOString(),
    };
  });

const ENTERED = 'WorkflowStateEntered';
const repeated = (times: number): string[] => Array(times).fill('WorkflowStepRepeated');

test('the kills that a command survived are its repeats, and one more when nothing was logged since the last kill', () => {
  const log = logOf('WorkflowExecutionStarted', ENTERED, ...repeated(2));
  const last = Date.parse(log.at(-1)?.recorded_at ?? '');
  assert.equal(hitsIn(log, last - 1), 2);
  assert.equal(hitsIn(log, last), 3);
});

test('a command of a state that comes later has survived no kill yet', () => {
  assert.equal(hitsIn(logOf(ENTERED, ...repeated(MOST), 'WorkflowStateExited', ENTERED), -1), 0);
});

test('a child without an event in its parent counts as killed as often as it can survive, an ended one as not killed', () => {
  assert.equal(hitsIn(logOf(`${ENTERED} Subworkflow`), -1), MOST);
  assert.equal(hitsIn(logOf(`${ENTERED} Subworkflow`, 'SubworkflowTriggered child'), -1), 0);
  assert.equal(hitsIn(logOf(ENTERED, ...repeated(MOST), 'WorkflowExecutionFailed'), LATER_MS * 10), 0);
});

function setup(logs: Record<string, WorkflowLogged[]>, id: string | null = 'run') {
  let looks = 0;
  const log = async (of: string): Promise<WorkflowLogged[]> => {
    looks += 1;
    return logs[of] ?? [];
  };
  const spared = new SparedRuns({ log });
  const run: KilledRun = { name: 'a run', id, hits: 0 };
  spared.running.add(run);
  return { spared, run, looks: () => looks };
}

/** Whether the next kill waits until `event` has happened; `looks`: number of times the logs were read. */
async function waits({ spared, run, looks }: ReturnType<typeof setup>, happens: () => void): Promise<boolean> {
  let isSafe = false;
  const safe = spared.safe(false).then(() => {
    isSafe = true;
  });
  const isLooking = (): boolean => spared.waits > 0 && (run.id === null || looks() > 2);
  await waitUntil('the kill to wait', () => isSafe || isLooking());
  const before = isSafe;
  happens();
  await safe;
  return !before;
}

test('kills are not delayed until a run was killed as often as a command survives', async () => {
  const { spared, looks } = setup({});
  for (let kill = 0; kill < MOST; kill += 1) {
    assert.equal(await spared.safe(false), false);
    spared.killed();
  }
  assert.deepEqual([looks(), spared.waits], [0, 0]);
});

test('a node that listens is asked one kill in advance, so that the next kill may happen during its start', async () => {
  const { spared, run } = setup({ run: logOf(ENTERED) });
  for (let kill = 0; kill < MOST - 1; kill += 1) spared.killed();
  assert.equal(await spared.safe(true), true);
  assert.deepEqual([run.hits, spared.waits], [1, 0], 'all killed runs but the last are over');
});

const CAUSES: Readonly<Record<string, { log: WorkflowLogged[]; child?: WorkflowLogged[]; id?: null }>> = {
  'its command has been repeated as often as it is': { log: logOf(ENTERED, ...repeated(MOST)) },
  'the command of its child has been': {
    log: logOf(`${ENTERED} Subworkflow`, 'SubworkflowTriggered child'),
    child: logOf(ENTERED, ...repeated(MOST)),
  },
  'its id is unknown': { log: [], id: null },
};

for (const [what, { log, child = [], id = 'run' }] of Object.entries(CAUSES)) {
  test(`a kill waits while ${what}, and happens when the run has made progress`, async () => {
    const logs = { run: log, child };
    const killing = setup(logs, id);
    const { spared, run } = killing;
    for (let kill = 0; kill < MOST; kill += 1) spared.killed();
    const waited = await waits(killing, () => {
      run.id = 'run';
      const far = new Date(Date.now() + LATER_MS).toISOString();
      logs.run = logOf(ENTERED, 'WorkflowStateExited', ENTERED).map((one) => ({ ...one, recorded_at: far }));
    });
    assert.equal(waited, true);
    assert.equal(run.hits, 0);
  });
}

test('a kill does not wait for a run that has ended', async () => {
  const killing = setup({}, null);
  const { spared, run } = killing;
  for (let kill = 0; kill < MOST; kill += 1) spared.killed();
  assert.equal(await waits(killing, () => spared.running.delete(run)), true);
});
