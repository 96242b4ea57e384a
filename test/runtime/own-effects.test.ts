import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ActorStore, Commit } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectJob, RunJob } from '../../runtime/effect-queue.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { SvcError } from '../../runtime/errors.ts';
import { job, workEffect } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import { effect, runnerOptions } from '../support/open-effect.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Notes the commits, claims and results that the kernel sends; `unsettled`: commits that settle are answered so. */
function watched(calls: string[], commits: Commit[], unsettled = false) {
  return (inner: ActorStore): Partial<ActorStore> => ({
    commit: async (commit, readAhead) => {
      if (unsettled && (commit.settles ?? []).length > 0) return { kind: 'unsettled' };
      commits.push(commit);
      return inner.commit(commit, readAhead);
    },
    claimEffect: (...args) => {
      calls.push('claim');
      return inner.claimEffect(...args);
    },
    settleEffect: (...args) => {
      calls.push('settle');
      return inner.settleEffect(...args);
    },
  });
}

test('an effect that runs where it was committed takes two commits and nothing else', async () => {
  const [calls, commits]: [string[], Commit[]] = [[], []];
  const probe = { begun: [], aborted: [] };
  const options = { definitions: [job], handlers: [workEffect(probe)], store: watched(calls, commits) };
  const node = await startKernelNode(options);
  const to = addressOf('job', 'acme', randomUUID());
  await node.runtime.client.ask(to, 'Run', { input: { value: 'made' }, mode: 'once' });
  await waitUntil('the result', () => commits.length > 1);
  await node.stop();
  assert.deepEqual(calls, []);
  const [asked, answered] = commits;
  assert.match(asked?.effectsOpened[0]?.started?.runner ?? '', /^node-a\/./);
  assert.deepEqual(
    answered?.settles?.map(({ id, attempt }) => [id, attempt]),
    [[probe.begun[0], 1]],
  );
  assert.match(answered?.records[0]?.record ?? '', /"status":"done".*"made"/);
});

test('a result that no commit may settle is sent, and handled once', async () => {
  const [calls, commits]: [string[], Commit[]] = [[], []];
  const probe = { begun: [], aborted: [] };
  const store = watched(calls, commits, true);
  const node = await startKernelNode({ definitions: [job], handlers: [workEffect(probe)], store });
  const to = addressOf('job', 'acme', randomUUID());
  await node.runtime.client.ask(to, 'Run', { input: { value: 'made' } });
  await waitUntil('the result', () => commits.length > 1);
  await node.stop();
  assert.deepEqual(calls, ['settle']);
  assert.equal(probe.begun.length, 1);
  assert.equal(commits.length, 2);
  assert.match(commits[1]?.records[0]?.record ?? '', /"status":"done".*"made"/);
});

test('a result whose turns cannot be committed with it is sent, and the error is logged', async () => {
  const probe = { begun: [], aborted: [] };
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(probe)],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if ((commit.settles ?? []).length > 0) throw new SvcError('internal', 'the store refuses this commit');
        return inner.commit(commit, readAhead);
      },
    }),
  });
  const to = addressOf('job', 'acme', randomUUID());
  await node.runtime.client.ask(to, 'Run', { input: { value: 'made' } });
  await waitUntil('the result', async () =>
    JSON.stringify((await node.runtime.client.read(to))?.state).includes('"status":"done"'),
  );
  await node.stop();
  assert.match(
    node.warnings.join('\n'),
    /default:0: 1 result could not be committed, now sent as a message: .*refuses this commit/,
  );
  assert.equal(probe.begun.length, 1);
});

test('an effect whose commit was answered late is not begun when another runner has its claim by then', async () => {
  const ledger = new MemoryEffectLedger();
  let take: RunJob | null = null;
  const queue = {
    claim: async () => ({ kind: 'gone' as const }),
    enqueue: async () => {},
    async work(_queues: readonly string[], _concurrency: number, run: RunJob) {
      take = run;
      return async () => {};
    },
  };
  let ran = 0;
  const act = effect('act', async () => {
    ran += 1;
    return null;
  });
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers: [act] }));
  await runner.start();
  const pointer: EffectJob = { id: randomUUID(), partition: 'default:3', address: 'probe/acme/one', queue: 'default' };
  const started = { attempt: 1, body: '{}', claimedAt: systemClock.monotonic() - 60_000 };
  const run: RunJob = take ?? assert.fail('the runner takes jobs');
  assert.equal((await run(pointer, started)).kind, 'later');
  await runner.stop();
  assert.equal(ran, 0);
});

test('a once effect whose commit was never answered runs, once, and is not in doubt: its process lives', async () => {
  const probe = { begun: [], aborted: [] };
  let away = false;
  let cut = false;
  const down = () => new SvcError('unavailable', 'the store is away');
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(probe)],
    settings: { leaseTtlMs: 400, leaseRenewMs: 50 },
    store: (inner) => ({
      // It happens, its answer is lost, and the store is away until the lease is.
      async commit(commit, readAhead) {
        if (away) throw down();
        const outcome = await inner.commit(commit, readAhead);
        if (commit.effectsOpened.length === 0 || cut) return outcome;
        [away, cut] = [true, true];
        throw down();
      },
      renew: (...args) => (away ? Promise.reject(down()) : inner.renew(...args)),
      reopenEffect: (...args) => (away ? Promise.reject(down()) : inner.reopenEffect(...args)),
      acquire: (...args) => (away ? Promise.reject(down()) : inner.acquire(...args)),
    }),
  });
  const to = addressOf('job', 'acme', randomUUID());
  const asked = node.runtime.client.ask(to, 'Run', { input: { value: 'made' }, mode: 'once' });
  await waitUntil('the lease is lost', () => node.runtime.held().length === 0);
  away = false;
  await asked;
  const state = await waitUntil('the result', async () => {
    const found = JSON.stringify((await node.runtime.client.read(to))?.state);
    return found.includes('"status":"waiting"') || found.includes('"status":"running"') ? null : found;
  });
  await node.stop();
  assert.match(state, /"status":"done".*"made"/);
  assert.equal(probe.begun.length, 1);
});
