import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Queue } from 'bullmq';
import { addressOf } from '../../runtime/address.ts';
import { job, type WorkProbe, workEffect } from '../support/actors.ts';
import { type Kernel, type Kernels, openKernels } from '../support/kernels.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();
const MANY = 6;
/** A job that was in the queue at one sweep and is lost afterwards is queued again after this time. */
const QUEUED_AGAIN_MS = 60_000;

/** The queue only delivers: the effects to run are in the records of the actors' partitions. */
describe('lost jobs of BullMQ', { skip, timeout: 480_000 }, () => {
  const probe: WorkProbe = { begun: [], aborted: [] };
  let kernels: Kernels;
  let kernel: Kernel;
  let queue: Queue;
  before(async () => {
    kernels = await openKernels();
    kernel = await kernels.start('only', {
      ...{ definitions: [job], handlers: [workEffect(probe)] },
      // Without free slots for effects without a job, so every effect needs its job.
      effectConcurrency: 1,
    });
    const { port } = kernels.redis;
    queue = new Queue('default', { connection: { host: '127.0.0.1', port }, prefix: 'svc-effects:{default}' });
    await queue.waitUntilReady();
  });
  after(async () => {
    await queue?.close();
    await kernels?.[Symbol.asyncDispose]();
  });

  const run = async (): Promise<{ done: () => Promise<boolean>; effect: string }> => {
    const address = addressOf('job', 'acme', randomUUID());
    const answer = await kernel.runtime.client.ask(address, 'Run', { input: { value: 'ok' } });
    assert.ok(typeof answer === 'object' && answer !== null && 'effect' in answer);
    const done = async (): Promise<boolean> => {
      const state = (await kernel.runtime.client.read(address))?.state;
      return typeof state === 'object' && state !== null && 'status' in state && state.status === 'done';
    };
    return { done, effect: String(answer.effect) };
  };
  const allDone = (jobs: readonly { done: () => Promise<boolean> }[]): Promise<unknown> =>
    waitUntil(
      'every job has its result',
      async () => (await Promise.all(jobs.map(({ done }) => done()))).every(Boolean),
      QUEUED_AGAIN_MS + 60_000,
    );
  const waiting = (): Promise<number> => queue.getJobCountByTypes('waiting', 'prioritized', 'delayed');
  const timesBegun = (id: string): number => probe.begun.filter((one) => one === id).length;

  test('a paused queue keeps its jobs, and all run when it is resumed', async () => {
    await queue.pause();
    const jobs = await Promise.all(Array.from({ length: MANY }, run));
    await waitUntil('the jobs wait', async () => (await waiting()) >= MANY);
    assert.deepEqual(await Promise.all(jobs.map(({ done }) => done())), Array(MANY).fill(false));
    await queue.resume();
    await allDone(jobs);
    for (const { effect } of jobs) assert.equal(timesBegun(effect), 1);
  });

  test('deleted jobs are queued again by the sweep, and each effect runs once', async () => {
    await queue.pause();
    const jobs = await Promise.all(Array.from({ length: MANY }, run));
    await waitUntil('the jobs wait', async () => (await waiting()) >= MANY);
    for (const { effect } of jobs) await queue.remove(effect);
    await queue.resume();
    await allDone(jobs);
    for (const { effect } of jobs) assert.equal(timesBegun(effect), 1);
  });

  test('after an obliterate the queue is filled again, and each effect runs once', async () => {
    await queue.pause();
    const jobs = await Promise.all(Array.from({ length: MANY }, run));
    await waitUntil('the jobs wait', async () => (await waiting()) >= MANY);
    await queue.obliterate({ force: true });
    await queue.resume();
    await allDone(jobs);
    for (const { effect } of jobs) assert.equal(timesBegun(effect), 1);
  });
});
