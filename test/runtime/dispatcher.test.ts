import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A node whose store fails every call of one name while `down` is set. */
interface Scene {
  readonly runtime: Runtime;
  readonly failed: () => number;
  readonly begun: readonly string[];
  down: 'flushOutbox' | 'openEffects' | null;
}

async function node(dataDir: string, down: Scene['down'], act: (scene: Scene) => Promise<void>): Promise<void> {
  const ports = await openStores({ dataDir, warn: () => {} });
  let failed = 0;
  const scene: { down: Scene['down'] } = { down };
  const refuse = (name: Scene['down']): void => {
    if (scene.down !== name) return;
    failed += 1;
    throw new SvcError('unavailable', 'the store is out of reach');
  };
  const { store } = ports;
  const faulty: ActorStore = new Proxy(store, {
    get(target, name) {
      if (name === 'flushOutbox') {
        return async (lease: Parameters<ActorStore['flushOutbox']>[0]) => {
          refuse(name);
          return target.flushOutbox(lease);
        };
      }
      if (name === 'openEffects') {
        return async (partition: Parameters<ActorStore['openEffects']>[0]) => {
          refuse(name);
          return target.openEffects(partition);
        };
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const begun: string[] = [];
  const runtime = await startRuntime({
    ...ports,
    store: faulty,
    definitions: [counter, job],
    handlers: [workEffect({ begun, aborted: [] })],
    node: 'node-a',
    settings: { partitions: 2, systemPartitions: 1, pollMs: 50 },
    warn: () => {},
  });
  try {
    await act(Object.assign(scene, { runtime, begun, failed: () => failed }));
  } finally {
    await runtime.stop();
    await ports.close();
  }
}

async function inDirectory(act: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-dispatcher-'));
  try {
    await act(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

test('an outbox that could not be flushed is flushed again without new messages', () =>
  inDirectory((dataDir) =>
    node(dataDir, 'flushOutbox', async (scene) => {
      await waitUntil('repeated attempts', () => scene.failed() > 6);
      scene.down = null;
      const before = scene.failed();
      await scene.runtime.client.ask(addressOf('counter', 'acme', randomUUID()), 'Add', { by: 1 });
      assert.equal(scene.failed(), before);
    }),
  ));

test('effects of an earlier life run although the first look at them failed', () =>
  inDirectory(async (dataDir) => {
    const address = addressOf('job', 'acme', randomUUID());
    await node(dataDir, null, async ({ runtime, begun }) => {
      await runtime.client.ask(address, 'Run', { input: { waitForAbort: true } });
      await waitUntil('the effect to begin', () => begun.length === 1);
    });
    await node(dataDir, 'openEffects', async (scene) => {
      await waitUntil('the first looks', () => scene.failed() >= 3);
      scene.down = null;
      await waitUntil('the effect to begin again', () => scene.begun.length === 1);
    });
  }));
