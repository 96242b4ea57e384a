import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startModelServer } from '../support/model-server.ts';
import type { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { modelConfig } from './agents.ts';
import { deploy, start } from './calls.ts';
import { type Followed, followExecution, type SeenEvent } from './follower.ts';
import { openNodeOnStores } from './node-on-stores.ts';
import { type StoreKind, storesMissing } from './stores.ts';

const TIMEOUT_MS = 2_000;
/** A timer may be late on a busy machine, but never early. */
const LATE_MS = 5_000;

const MANIFEST = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: silent, version: "1.0.0" }
spec:
  task: { prompt_template: "{{input}}" }
  execution: { mode: one-shot, iteration_timeout: ${TIMEOUT_MS}ms }
`;

interface SilentModel extends AsyncDisposable {
  readonly node: NodeProcess;
  /** Starts an execution whose model never answers and follows it to its end. */
  begin(key: string, onStarted: () => void): Promise<Followed>;
}

async function openSilentModel(kind: StoreKind): Promise<SilentModel> {
  await using opened = new AsyncDisposableStack();
  const model = await startModelServer();
  opened.defer(() => model.stop());
  model.answer(() => ({ silent: true }));
  const { node } = opened.use(await openNodeOnStores(kind, { spec: () => modelConfig(model.url) }));
  const { signal } = new AbortController();
  node.spawn();
  const agentId = await deploy(node, { manifest: MANIFEST }, signal);
  const all = opened.move();
  return {
    node,
    async begin(key, onStarted) {
      const id = await start(node, agentId, key, signal);
      const onEvent = ({ name }: SeenEvent): void => {
        if (name === 'iteration_started') onStarted();
      };
      return followExecution(id, { url: () => node.url, onEvent, signal });
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Milliseconds between the start of the iteration and its failure, as the node recorded them. */
function firedAfter({ events }: Followed): number {
  const started = events.find((event) => event.name === 'iteration_started');
  const failed = events.find((event) => event.name === 'iteration_failed');
  const { error } = failed?.payload ?? {};
  assert.ok(typeof error === 'object' && error !== null && 'error_type' in error);
  assert.equal(error.error_type, 'iteration_timed_out');
  return Date.parse(String(failed?.payload.failed_at)) - Date.parse(String(started?.payload.started_at));
}

const kinds: readonly StoreKind[] = ['sqlite', 'redis'];
for (const kind of kinds) {
  describe(`time-outs on ${kind}`, { skip: storesMissing(kind), timeout: 300_000 }, () => {
    let model: SilentModel;
    before(async () => {
      model = await openSilentModel(kind);
    });
    after(() => model?.[Symbol.asyncDispose]());

    test(`a time-out set before a kill fires after the restart at its time (${kind})`, async () => {
      const { node, begin } = model;
      const started = Promise.withResolvers<void>();
      const followed = begin('before', started.resolve);
      await started.promise;
      const startedAt = Date.now();
      await node.kill();
      node.spawn();
      await node.url;
      // A start may take long beside other work; timers that become due meanwhile fire after it.
      const upMs = Date.now() - startedAt;
      const tookMs = firedAfter(await followed);
      assert.ok(tookMs >= TIMEOUT_MS && tookMs < Math.max(TIMEOUT_MS, upMs) + LATE_MS, `fired after ${tookMs} ms`);
    });

    test(`a time-out that passed while no node ran fires once at the restart (${kind})`, async () => {
      const { node, begin } = model;
      const started = Promise.withResolvers<void>();
      const followed = begin('passed', started.resolve);
      await started.promise;
      await node.kill();
      const killedAt = Date.now();
      await waitUntil('the time-out to pass', () => Date.now() > killedAt + TIMEOUT_MS);
      node.spawn();
      const { events } = await followed;
      assert.deepEqual(
        events.map((event) => event.name),
        ['execution_started', 'iteration_started', 'iteration_failed', 'execution_failed'],
      );
      await node.stop();
    });
  });
}
