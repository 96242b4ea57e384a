import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startModelServer } from '../support/model-server.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { nodeConfig } from './agents.ts';
import { deploy, start } from './calls.ts';
import { type Followed, followExecution, type SeenEvent } from './follower.ts';
import { type StoreKind, startStores, storesMissing } from './stores.ts';

const TIMEOUT_MS = 2_000;
/** A node on a busy machine may be late; it may never be early. */
const LATE_MS = 5_000;

const MANIFEST = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: silent, version: "1.0.0" }
spec:
  task: { prompt_template: "{{input}}" }
  execution: { mode: one-shot, iteration_timeout: ${TIMEOUT_MS}ms }
`;

interface Scene {
  readonly node: NodeProcess;
  /** Starts an execution whose model never answers and follows it to its end. */
  begin(onStarted: () => void): Promise<Followed>;
}

async function withSilentModel(kind: StoreKind, act: (scene: Scene) => Promise<void>): Promise<void> {
  const [stores, model] = await Promise.all([startStores(kind), startModelServer()]);
  model.answer(() => ({ silent: true }));
  const config = join(stores.location.dataDir, 'svc.yaml');
  await writeFile(config, nodeConfig(model.url));
  const node = new NodeProcess([...stores.args, '--config', config]);
  const { signal } = new AbortController();
  try {
    node.spawn();
    const agentId = await deploy(node, { manifest: MANIFEST }, signal);
    await act({
      node,
      async begin(onStarted) {
        const id = await start(node, agentId, 'timer', signal);
        const onEvent = ({ name }: SeenEvent): void => {
          if (name === 'iteration_started') onStarted();
        };
        return followExecution(id, { url: () => node.url, onEvent, signal });
      },
    });
    await node.stop();
  } finally {
    await node.kill();
    await Promise.all([model.stop(), stores.destroy()]);
  }
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
  const skip = storesMissing(kind);

  test(`a time-out set before a kill fires after the restart at its time (${kind})`, { skip, timeout: 60_000 }, () =>
    withSilentModel(kind, async ({ node, begin }) => {
      const started = Promise.withResolvers<void>();
      const followed = begin(started.resolve);
      await started.promise;
      await node.kill();
      node.spawn();
      const tookMs = firedAfter(await followed);
      assert.ok(tookMs >= TIMEOUT_MS && tookMs < TIMEOUT_MS + LATE_MS, `fired after ${tookMs} ms`);
    }),
  );

  test(`a time-out that passed while no node ran fires once at the restart (${kind})`, { skip, timeout: 60_000 }, () =>
    withSilentModel(kind, async ({ node, begin }) => {
      const started = Promise.withResolvers<void>();
      const followed = begin(started.resolve);
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
    }),
  );
}
