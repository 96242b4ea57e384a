import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { NodeProcess } from '../support/node-process.ts';
import { sample } from '../support/size.ts';
import { deploy, start } from './calls.ts';
import { followExecution } from './follower.ts';
import { SeededRandom, seedOf } from './random.ts';
import { type StoreKind, startStores, storesMissing } from './stores.ts';

const MANIFEST = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: echo, version: "1.0.0" }
spec:
  runtime: { isolation: process }
  task: { prompt_template: "{{input}}" }
  advanced: { bootstrap_path: /bin/echo }
`;

/** Kills of the first start on fresh stores: files, schemas and functions are only partly there. */
const STARTS: readonly (readonly [kind: StoreKind, count: number])[] = [
  ['sqlite', sample({ normal: 1, long: 8 })],
  ['redis', sample({ normal: 1, long: 3 })],
];
const EARLIEST_MS = 100;
const LATEST_MS = 600;

for (const [kind, count] of STARTS) {
  const skip = storesMissing(kind);
  test(`a node killed in its first start works at the second (${kind})`, { skip, timeout: 480_000 }, async () => {
    const seed = seedOf(process.env);
    const random = new SeededRandom(seed);
    for (let n = 0; n < count; n += 1) {
      await killedAfter(kind, random.between(EARLIEST_MS, LATEST_MS), `SVC_SEED=${seed}`);
    }
  });
}

async function killedAfter(kind: StoreKind, afterMs: number, seed: string): Promise<void> {
  const stores = await startStores(kind);
  const node = new NodeProcess(stores.args);
  const signal = AbortSignal.timeout(120_000);
  try {
    node.spawn();
    // Sets the moment of the kill; does not wait for a condition.
    await pause(afterMs);
    await node.kill();
    node.spawn();
    await node.url;
    const agentId = await deploy(node, { manifest: MANIFEST }, signal);
    const id = await start(node, agentId, 'first', signal);
    const { events } = await followExecution(id, { url: () => node.url, onEvent: () => {}, signal });
    assert.equal(events.at(-1)?.payload.final_output, 'first\n', `${seed}, killed after ${afterMs} ms`);
    await node.stop();
  } finally {
    await node.kill();
    await stores.destroy();
  }
}
