import assert from 'node:assert/strict';
import type { ChaosOutcome, ExecutionSeen } from './chaos.ts';
import type { RecordedResult } from './record.ts';
import { NOTHING_LEFT } from './remaining-records.ts';
import { grammarFault, transcriptOf } from './transcript.ts';

/** Time for a model call that was about to be made when the cancel was committed. */
const CANCEL_REACHES_MS = 1_000;

/** Figures of the checks. */
export interface Counts {
  /** Model calls made again because the node died before the result was recorded. */
  readonly repeatedCalls: number;
  /** Programs started again. */
  readonly repeatedRuns: number;
  /** Repeats that the status of executions reports. */
  readonly inDoubt: number;
  /** Iterations that failed as in doubt instead of being run again. */
  readonly failedInDoubt: number;
}

/** Throws for the first violated promise; the chaos run checks all of them. */
export function checkOutcome(outcome: ChaosOutcome): Counts {
  for (const seen of outcome.executions) {
    assert.equal(grammarFault(seen.followed.events), null, seen.id);
    if (seen.agent.cancelled && seen.cancelledAtMs === null) assert.equal(seen.status.status, 'completed', seen.id);
    else if (seen.agent.cancelled) checkCancelled(seen, outcome);
    else checkEnding(seen, outcome.baseline.get(seen.agent.name));
  }
  assert.deepEqual(outcome.unfinished, [], 'after the last kill all runs end');
  assert.deepEqual(outcome.left, NOTHING_LEFT, 'ended executions leave the actor store');
  if (outcome.traces !== null) {
    assert.deepEqual(
      outcome.traces.broken,
      [],
      'the ledger contains what was appended, one graph for each client call',
    );
    assert.ok(outcome.traces.calls >= outcome.executions.length, 'each start is a client call');
  }
  const repeatedCalls = checkModelCalls(outcome);
  return { repeatedCalls, ...checkPrograms(outcome) };
}

/** Iterations that failed as in doubt. */
function inDoubtFailures(seen: ExecutionSeen): number {
  const failures = seen.followed.events.flatMap(({ payload: { error } }) =>
    typeof error === 'object' && error !== null && 'error_type' in error && error.error_type === 'in_doubt'
      ? ['message' in error ? String(error.message) : '']
      : [],
  );
  // Without the annotation a program is run again first; its tenth death in a row ends the repeats.
  const early = failures.filter((message) => !seen.agent.failsInDoubt && !/died 10 times in a row/.test(message));
  assert.deepEqual(early, [], seen.id);
  return failures.length;
}

/** (a): the same status, output and iterations as an unkilled run, event by event. */
function checkEnding(seen: ExecutionSeen, unkilled: ExecutionSeen | undefined): void {
  assert.ok(unkilled !== undefined, 'each agent has an unkilled run');
  const { agent, key, id, status, followed } = seen;
  const what = `${agent.name} ${id}`;
  assert.equal(status.status, unkilled.status.status, `${what}: ${status.last_error}`);
  const output = unkilled.status.last_output?.replaceAll(unkilled.key, key) ?? null;
  assert.equal(status.last_output, output, what);
  const failed = inDoubtFailures(seen);
  const started = followed.events.filter((event) => event.name === 'iteration_started').length;
  assert.equal(status.iteration_count, started, what);
  if (failed > 0) {
    // The iteration after one in doubt may succeed.
    assert.ok(started <= unkilled.status.iteration_count + failed, what);
    return;
  }
  assert.equal(started, unkilled.status.iteration_count, what);
  assert.deepEqual(transcriptOf(followed.events, key), transcriptOf(unkilled.followed.events, unkilled.key), what);
  assert.deepEqual(status.usage, unkilled.status.usage, what);
}

/** An acknowledged cancel survives kills: the execution ends cancelled, and its model is not called again. */
function checkCancelled({ key, id, status, followed, cancelledAtMs }: ExecutionSeen, { calls }: ChaosOutcome): void {
  assert.equal(status.status, 'cancelled', id);
  assert.equal(followed.events.at(-1)?.payload.reason, 'cancelled', id);
  assert.ok(cancelledAtMs !== null, id);
  const late = calls.filter((call) => call.key === key && call.atMs > cancelledAtMs + CANCEL_REACHES_MS);
  assert.equal(late.length, 0, `${id}: the model was called after the cancel`);
}

/**
 * (c): no model call after its recorded result, one result an iteration, at most one call an attempt. A call that was
 * made before the commit that asks for it is not an attempt yet (decision 0026): a kill before that commit repeats it
 * once.
 */
function checkModelCalls({ executions, calls, recorded, recovery }: ChaosOutcome): number {
  const results = resultsBy(recorded, 'ModelAnswered');
  let repeated = 0;
  for (const { agent, key, id, status } of executions) {
    if (agent.kind !== 'model' || agent.cancelled) continue;
    for (let iteration = 1; iteration <= status.iteration_count; iteration += 1) {
      const what = `${agent.name} ${id} iteration ${iteration}`;
      const mine = results.get(`${id} ${iteration}`) ?? [];
      assert.equal(mine.length, 1, `${what}: ${mine.length} results are recorded`);
      const [result] = mine;
      const made = calls.filter((call) => call.key === key && call.iteration === iteration);
      assert.ok(made.length >= 1, `${what}: no call was made`);
      const times = made.map(({ atMs }) => atMs);
      const unrecorded = recovery.killsBetween(Math.min(...times), Math.max(...times));
      assert.ok(result !== undefined, what);
      const said = `${what}: ${made.length} calls, ${result.attempt} attempts, ${unrecorded} kills between them`;
      assert.ok(made.length <= result.attempt + unrecorded, said);
      const late = made.filter((call) => call.atMs > result.atMs);
      assert.equal(late.length, 0, `${what}: called again ${(late[0]?.atMs ?? 0) - result.atMs} ms after its result`);
      repeated += made.length - 1;
    }
  }
  return repeated;
}

function resultsBy(recorded: readonly RecordedResult[], type: string): Map<string, RecordedResult[]> {
  const found = new Map<string, RecordedResult[]>();
  for (const result of recorded) {
    if (result.type !== type) continue;
    const name = `${result.executionId} ${result.iteration}`;
    found.set(name, [...(found.get(name) ?? []), result]);
  }
  return found;
}

/** (d): a program that ran twice is reported; with on-in-doubt fail none runs twice. */
function checkPrograms({ executions, runs }: ChaosOutcome): Omit<Counts, 'repeatedCalls'> {
  const counts = { repeatedRuns: 0, inDoubt: 0, failedInDoubt: 0 };
  for (const seen of executions) {
    if (seen.agent.kind !== 'program') continue;
    const starts = new Map<string, number>();
    for (const line of runs) {
      if (line.startsWith(`${seen.id} `)) starts.set(line, (starts.get(line) ?? 0) + 1);
    }
    const extra = [...starts.values()].reduce((sum, count) => sum + count - 1, 0);
    const admitted = seen.status.in_doubt ?? 0;
    assert.ok(admitted >= extra, `${seen.id}: ${extra} repeated runs, in_doubt ${admitted}`);
    if (seen.agent.failsInDoubt) assert.equal(extra, 0, `${seen.id}: ran twice although on-in-doubt is fail`);
    counts.repeatedRuns += extra;
    counts.inDoubt += admitted;
    counts.failedInDoubt += inDoubtFailures(seen);
  }
  return counts;
}
