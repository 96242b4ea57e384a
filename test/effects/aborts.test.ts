import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as nap } from 'node:timers/promises';
import type { EffectContext } from '../../runtime/effect.ts';
import type { RunnerStore } from '../../runtime/effects/effect-runner-claim.ts';
import { AwaitPoints } from '../support/await-points.ts';
import { sample } from '../support/size.ts';

// Before the modules under test, whose imports are loaded after it.
const points = AwaitPoints.install(['effects', 'runtime/effects']);
const { SvcError } = await import('../../runtime/errors.ts');
const { createCommandRunner } = await import('../../effects/commands/command-runner.ts');
const { createToolCommands } = await import('../../effects/commands/tool-commands.ts');
const { createPrepareEffect } = await import('../../effects/volumes/prepare-effect.ts');
const { openWorkspaceView } = await import('../../effects/programs/workspace-view.ts');
const { systemClock } = await import('../../runtime/clock.ts');
const { EffectRunner } = await import('../../runtime/effects/effect-runner.ts');
const { EmbeddedEffectQueue } = await import('../../runtime/effects/embedded-effect-queue.ts');
const { MemoryEffectLedger } = await import('../support/memory-effect-ledger.ts');
const { aborted, effect, openEffect, runnerOptions, until } = await import('../support/open-effect.ts');
const { effectContext } = await import('../support/effect-context.ts');
const { programsUnderTest, recorded } = await import('../support/program-under-test.ts');
const { startModelServer } = await import('../support/model-server.ts');
const { ask, providerAt } = await import('./models/generate.ts');
const { volumesUnderTest } = await import('./volumes/volumes-under-test.ts');
const { fetchFrom, serve, webOver } = await import('./web/page-server.ts');
const { mcpUnderTest, ours } = await import('./mcp/mcp-servers.ts');

type Work = (signal: AbortSignal) => Promise<unknown>;

interface Case {
  readonly work: Work;
  /** What the run left behind, as text; empty when it left nothing. */
  readonly left?: () => Promise<readonly string[]>;
  /** Minimum number of awaits; with fewer the case no longer does what its name says. */
  readonly atLeast: number;
  /** Tries one in this many awaits; default 1: every await. */
  readonly step?: number;
}

/** Where each run takes a process of Node.js, one in this many awaits is tried. */
const SAMPLE = sample({ normal: 120, long: 1 });

/**
 * Aborts a run at its first await, the next one at its second, and so on until one ends without an abort. The aborted
 * await itself is continued last: after everything else that the abort ends.
 */
async function abortAtEvery({ work, left = async () => [], atLeast, step = 1 }: Case): Promise<void> {
  for (let at = 1; ; at += step) {
    const stop = new AbortController();
    const disturb = (): void => stop.abort(new SvcError('cancelled', 'aborted by the test'));
    const { disturbed, where, unhandled, outcome } = await points.run({ at, disturb }, () => work(stop.signal));
    const what = `aborted at await ${at}, ${where}`;
    assert.deepEqual(unhandled, [], what);
    assert.ok(outcome !== 'hung', `${what}: it did not end`);
    if (outcome.status === 'rejected') {
      assert.ok(outcome.reason instanceof SvcError, `${what}: ${String(outcome.reason)}`);
      assert.notEqual(outcome.reason.row.kind, 'bug', what);
      assert.ok(disturbed, `${what}: ${outcome.reason.message}`);
    }
    assert.deepEqual(await left(), [], what);
    if (disturbed) continue;
    assert.ok(at > atLeast, `only ${at - 1} awaits`);
    return;
  }
}

describe('an abort at any await leaves the node up and nothing behind', { timeout: 300_000 }, () => {
  let programs: Awaited<ReturnType<typeof programsUnderTest>>;
  let bench: Awaited<ReturnType<typeof volumesUnderTest>>;
  let host: Pick<Parameters<typeof createToolCommands>[0], 'volumes' | 'workspaces' | 'view' | 'killGraceMs' | 'allow'>;
  before(async () => {
    bench = await volumesUnderTest();
    programs = await programsUnderTest({ volumes: bench.volumes });
    const workspaces = join(bench.directory, 'workspaces');
    await mkdir(workspaces);
    const { view } = await openWorkspaceView(workspaces);
    host = { volumes: bench.volumes, workspaces, view, killGraceMs: 300, allow: () => true };
  });
  after(async () => {
    await programs?.close();
    await bench?.[Symbol.asyncDispose]();
  });
  const runsIn = (workspaces: string) => (): Promise<readonly string[]> => recorded(workspaces);

  test('an abort at any await of a program', async () => {
    const path = await programs.script('#!/bin/sh\necho hello\nsleep 0.01\n');
    const mounts = [{ volume_id: await bench.volume(), mount_path: '/workspace/data' }];
    const work: Work = (signal) => programs.run({ path, mounts, env: { KEY: 'secret:KEY' } }, { signal });
    await abortAtEvery({ work, left: runsIn(programs.workspaces), atLeast: 50 });
  });

  test('an abort at any await of a shell command', async () => {
    const runner = createCommandRunner(host);
    const workspace = { volume_id: await bench.volume(), implicit: false };
    const asked = { tenant: 'acme', command: 'echo hello; sleep 0.01', env: {}, workdir: '/workspace', workspace };
    const work: Work = (signal) => runner.run({ ...asked, timeout_ms: 10_000 }, signal);
    await abortAtEvery({ work, left: runsIn(host.workspaces), atLeast: 30 });
  });

  test('an abort at any await of a command of a tool', async () => {
    const commands = createToolCommands({ ...host, engine: null });
    const asked = { tenant: 'acme', command: 'sleep', args: ['0.01'], mounts: [], env_denylist: [] };
    const work: Work = (signal) =>
      commands.run({ ...asked, execution_id: randomUUID(), timeout_ms: 10_000, max_output_bytes: 1_000 }, signal);
    await abortAtEvery({ work, left: runsIn(host.workspaces), atLeast: 30 });
  });

  test('an abort at any await of the volumes of a workflow', async () => {
    const effect = createPrepareEffect(bench.volumes);
    const work: Work = (signal) => {
      const storage = { storage_class: 'ephemeral' as const };
      const shared_volumes = [{ name: 'data', ...storage }];
      const input = { workflow_execution_id: randomUUID(), workspace: storage, shared_volumes };
      return effect.run(input, effectContext({ address: 'workflow/acme/w', signal }));
    };
    await abortAtEvery({ work, atLeast: 5 });
  });

  test('an abort at any await of a search in a volume', async () => {
    const id = await bench.volume();
    const { files } = bench.volumes;
    await files.write('acme', id, '/a/b.txt', Buffer.from('match\n'));
    const work: Work = (signal) => files.grep('acme', id, '/', 'match', { signal });
    await abortAtEvery({ work, atLeast: 2 });
  });

  test('an abort at any await of a streamed model call', async () => {
    const server = await startModelServer();
    const providers = [providerAt(server, 'openai-compatible')];
    try {
      await abortAtEvery({ work: (signal) => ask({ providers, signal }), atLeast: 5 });
    } finally {
      await server.stop();
    }
  });

  test('an abort at any await of a page', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><html><body><p>words of a page</p></body></html>');
    });
    const web = webOver();
    try {
      await abortAtEvery({
        work: (signal) => fetchFrom(web, `http://127.0.0.2:${server.port}/`, { signal }),
        atLeast: 5,
      });
    } finally {
      await web.close();
    }
  });

  test('an abort at any await of a call of an MCP server', async () => {
    await using mcp = await mcpUnderTest([ours('wild')]);
    await mcp.until('wild', 'ready');
    await abortAtEvery({ work: (signal) => mcp.call('wild.echo', {}, { signal }), atLeast: 2 });
  });

  test('an abort at any await of the start of an MCP server, which is stopped', async () => {
    const work: Work = async (signal) => {
      const mcp = await mcpUnderTest([ours('wild')]);
      const stopped = new Promise<void>((resolve) => {
        if (signal.aborted) return resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([stopped, mcp.until('wild', 'ready')]);
      await mcp[Symbol.asyncDispose]();
    };
    await abortAtEvery({ work, atLeast: 10, step: SAMPLE });
  });
});

describe('an effect is stopped at any await of its runner: the node stays up', { timeout: 300_000 }, () => {
  const TIMEOUT_MS = 77_777;
  const quick = { claimTtlMs: 120, renewEveryMs: 30, stopGraceMs: 30, abortGraceMs: 2_000 };

  /** The effect of a cause on a running effect; `silenced` calls of the ledger reject from then on. */
  interface Under {
    readonly ledger: InstanceType<typeof MemoryEffectLedger>;
    readonly runner: InstanceType<typeof EffectRunner>;
    readonly id: string;
    silence(): void;
    timeOut(): void;
  }
  const CAUSES: Readonly<Record<string, (under: Under) => unknown>> = {
    'a cancel': ({ ledger, id }) => ledger.cancel(id),
    'a cancel without a notification': ({ ledger, id }) => ledger.cancel(id, true),
    'a store that is silent': ({ silence }) => silence(),
    'a time-out': ({ timeOut }) => timeOut(),
    'a stop of the node': ({ runner }) => runner.stop(),
  };

  for (const mode of ['repeatable', 'once'] as const) {
    for (const [cause, disturb] of Object.entries(CAUSES)) {
      test(`${cause}, of one that is ${mode}`, async () => {
        for (let at = 1; ; at += 1) {
          let under: Under | null = null;
          const begun: Promise<unknown>[] = [];
          const plan = {
            at,
            disturb: () => {
              if (under !== null) begun.push(Promise.resolve(disturb(under)));
            },
          };
          const faults: unknown[] = [];
          const result = await points.run(plan, async () => {
            const ledger = new MemoryEffectLedger();
            let isSilent = false;
            const timers = new Set<() => void>();
            const clock = {
              ...systemClock,
              after(delayMs: number, call: () => void) {
                if (delayMs !== TIMEOUT_MS) return systemClock.after(delayMs, call);
                timers.add(call);
                return () => timers.delete(call);
              },
            };
            const answered = <T>(call: () => Promise<T>): Promise<T> =>
              isSilent ? Promise.reject(new SvcError('unavailable')) : call();
            const store: RunnerStore = {
              keepEffect: (...given) => answered(() => ledger.keepEffect(...given)),
              progressEffect: (...given) => answered(() => ledger.progressEffect(...given)),
              settleEffect: (...given) => answered(() => ledger.settleEffect(...given)),
              reopenEffect: (of, id, attempt, delayMs) => answered(() => ledger.reopenEffect(of, id, attempt, delayMs)),
              onEffectCancelled: (stop) => ledger.onEffectCancelled(stop),
            };
            const onFault = (fault: unknown): void => void faults.push(fault);
            const queue = new EmbeddedEffectQueue({ ledger, clock, onFault });
            await queue.open();
            const handlers = [effect('test.work', worker)];
            const runner = new EffectRunner(runnerOptions({ store, queue, handlers, onFault, clock, ...quick }));
            await runner.start();
            const asked = { kind: 'test.work', mode, progressAs: 'Moved', timeoutMs: TIMEOUT_MS };
            const job = await openEffect(ledger, asked);
            under = {
              ...{ ledger, runner, id: job.id },
              // The work continues during the outage; its time is over before the store answers again.
              silence: () => {
                isSilent = true;
                systemClock.after(20, () => {
                  for (const call of timers) call();
                });
                systemClock.after(60, () => {
                  isSilent = false;
                });
              },
              timeOut: () => {
                for (const call of timers) call();
              },
            };
            await queue.enqueue(job);
            // An effect that is stopped before it began may never run.
            await until(() => begun.length > 0 || runner.counts.started > 0, 'its start');
            await until(() => runner.counts.running === 0, 'its end');
            await runner.stop();
            await queue.close();
          });
          const what = `${cause} at await ${at}, ${result.where}`;
          assert.deepEqual(result.unhandled, [], what);
          // Rejections for results that the silent store did not get, and for work that waits for it without end, are
          // expected.
          const bugs = faults.filter((fault) => !(fault instanceof SvcError) || fault.row.kind === 'bug');
          assert.deepEqual(cause.includes('silent') ? bugs : faults, [], what);
          assert.ok(result.outcome !== 'hung' && result.outcome.status === 'fulfilled', what);
          await Promise.all(begun);
          if (result.disturbed) continue;
          assert.ok(at > 8, `only ${at - 1} awaits`);
          return;
        }
      });
    }
  }

  /** Moves, waits without a place, moves again. */
  async function worker(_input: unknown, { progress, parked, signal }: EffectContext): Promise<string> {
    await progress('begun');
    await parked(Promise.race([nap(15), aborted(signal)]));
    signal.throwIfAborted();
    await progress('almost');
    return 'done';
  }
});
