import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineEffect } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type FleetKernels, type FleetNode, openFleetKernels } from './fleet-kernels.ts';

const missing = serversMissing();
const MODES = ['once', 'repeatable'] as const;
const JOBS_OF_A_MODE = 12;
/** A node lease that is not renewed expires after 6 s. */
const LEASE_ENDS_WITHIN_MS = 25_000;

interface Job {
  readonly mode: (typeof MODES)[number];
  readonly effect: string;
  readonly address: Address;
}

/** Two nodes whose effects run until they are released, and report the node on which they began. */
class HeldWork {
  readonly #release = Promise.withResolvers<void>();
  readonly begun: { readonly effect: string; readonly node: string }[] = [];

  /** `test.work` on one node. */
  on(node: string) {
    return defineEffect({
      kind: 'test.work',
      input: z.object({}),
      run: async (_input, { effectId }) => {
        this.begun.push({ effect: effectId, node });
        await this.#release.promise;
        return node;
      },
    });
  }

  release(): void {
    this.#release.resolve();
  }

  of({ effect }: Job): readonly string[] {
    return this.begun.filter((one) => one.effect === effect).map(({ node }) => node);
  }
}

const Effect = z.object({ effect: z.string() });

async function startJobs(node: FleetNode): Promise<Job[]> {
  const modes = MODES.flatMap((mode) => Array.from({ length: JOBS_OF_A_MODE }, () => mode));
  return Promise.all(
    modes.map(async (mode) => {
      const address = addressOf('job', 'acme', randomUUID());
      const answer = await node.runtime.client.ask(address, 'Run', { input: {}, mode });
      return { mode, address, ...Effect.parse(answer) };
    }),
  );
}

const Status = z.object({ status: z.string() });
const statusOf = async (node: FleetNode, { address }: Job): Promise<string> =>
  Status.parse((await node.runtime.client.read(address))?.state).status;

describe('a live node that is taken for dead', { skip: missing || false, timeout: 300_000 }, () => {
  let kernels: FleetKernels;
  before(async () => {
    kernels = await openFleetKernels();
  });
  after(() => kernels[Symbol.asyncDispose]());

  const open = async (name: string) => {
    const work = new HeldWork();
    const a = await kernels.node(`${name}-a`, {}, [work.on('a')]);
    const b = await kernels.node(`${name}-b`, {}, [work.on('b')]);
    await waitUntil('both hold a share', () => [a, b].every(({ runtime }) => runtime.held().length > 0));
    const jobs = await startJobs(b);
    await waitUntil('all have begun', () => jobs.every((job) => work.of(job).length === 1));
    const atA = jobs.filter((job) => work.of(job)[0] === 'a');
    for (const mode of MODES) assert.ok(atA.some((job) => job.mode === mode));
    const becomesMemberAgain = () =>
      waitUntil('it is a member with a share again', () => a.runtime.ready() && a.runtime.held().length > 0);
    return { a, b, work, jobs, atA, becomesMemberAgain };
  };

  test('a live node whose node lease expired runs its once effects on and reports them: none is in doubt, none runs twice', async (t) => {
    const { a, b, work, jobs, atA, becomesMemberAgain } = await open('silent');
    const silence = t.mock.method(a.stores.store, 'announce', () =>
      Promise.reject(new SvcError('unavailable', 'away')),
    );
    await waitUntil('the other node has all', () => a.runtime.held().length === 0, LEASE_ENDS_WITHIN_MS);
    const isTaken = (job: Job) => work.of(job).length === 2 && work.of(job).at(-1) === 'b';
    await waitUntil('at least one repeatable effect is taken over', () => atA.some(isTaken), LEASE_ENDS_WITHIN_MS);
    silence.mock.restore();
    await becomesMemberAgain();
    work.release();
    for (const job of jobs) {
      await waitUntil('a job to end well', async () => (await statusOf(b, job)) === 'done');
      if (job.mode === 'once') assert.equal(work.of(job).length, 1);
    }
    await Promise.all([a.stop(), b.stop()]);
  });

  test('a live node is reported dead: a once effect that another node takes over is in doubt and not run again; all others complete', async (t) => {
    const { a, b, work, jobs, atA, becomesMemberAgain } = await open('word');
    const silence = t.mock.method(a.stores.store, 'announce', () =>
      Promise.reject(new SvcError('unavailable', 'away')),
    );
    await b.placement.declareDead(a.name, a.placement.incarnation);
    const inDoubt = async (): Promise<readonly Job[]> => {
      const words = await Promise.all(jobs.map((job) => statusOf(b, job)));
      return jobs.filter((_, n) => words[n] === 'in_doubt');
    };
    await waitUntil('one is in doubt', async () => (await inDoubt()).length > 0, LEASE_ENDS_WITHIN_MS);
    await waitUntil('one runs again', () => jobs.some((job) => work.of(job).length === 2), LEASE_ENDS_WITHIN_MS);
    silence.mock.restore();
    await becomesMemberAgain();
    work.release();
    await waitUntil('all have ended', async () => {
      const words = await Promise.all(jobs.map((job) => statusOf(b, job)));
      return words.every((word) => word === 'done' || word === 'in_doubt');
    });
    for (const job of await inDoubt()) assert.ok(job.mode === 'once' && atA.includes(job));
    for (const job of jobs) if (job.mode === 'once') assert.equal(work.of(job).length, 1);
    for (const job of atA)
      assert.ok(work.of(job).length === 1 || work.of(job).at(-1) === 'b', 'it runs no second time on its node');
    await Promise.all([a.stop(), b.stop()]);
  });
});
