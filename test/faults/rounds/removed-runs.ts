import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Documents } from '../../../runtime/documents.ts';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { SeededRandom } from '../../kill/random.ts';
import { type KillStores, type StoreKind, startStores } from '../../kill/stores.ts';
import { NodeProcess } from '../../support/node-process.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: short-lived, version: "1.0.0" }
spec:
  initial_state: KEEP
  states:
    KEEP: { kind: System, command: update_blackboard, env: { kept: "{{input.text}}" }, transitions: [] }
`;
const CONFIG = 'apiVersion: svc.dev/v1\nkind: NodeConfig\nspec:\n  retention: { interval_secs: 1 }\n';
const DELETED = 10;
const KEPT = 5;
const LARGE_CHARS = 80_000;
const RECOVER_WITHIN_MS = 30_000;
const AGAIN_MS = 20;

/** Runs that end within their start, deleted at once, while their node is killed. */
export const removedRuns: FaultCase = {
  name: 'removed-runs',
  title:
    'runs deleted right after their end, the node killed with -9 meanwhile: nothing of them stays, and the others do',
  stores: ['sqlite', 'redis'],
  open: openWorld,
};

async function openWorld(store: StoreKind): Promise<FaultWorld> {
  const stores = await startStores(store);
  const config = join(stores.location.dataDir, 'svc-rounds.yaml');
  await writeFile(config, CONFIG);
  const node = new NodeProcess([...stores.args, '--config', config]);
  node.spawn();
  const headers = { 'content-type': 'application/yaml' };
  await answered(node, 'POST', '/v1/workflows', { headers, body: WORKFLOW });
  const documents = witness(stores);
  await documents.open();
  return {
    round: (seed) => round(node, documents, seed),
    async close() {
      await documents.close();
      await node.stop();
      await stores.destroy();
    },
  };
}

/** Reads what the node has written, beside it. */
function witness({ location }: KillStores): Documents {
  const { mongodb, dataDir } = location;
  return mongodb === undefined ? new SqliteDocuments({ directory: dataDir }) : new MongoDocuments({ uri: mongodb });
}

async function round(node: NodeProcess, documents: Documents, seed: number): Promise<RoundOutcome> {
  const seeded = new SeededRandom(seed);
  const random = (): number => seeded.fraction();
  const startOne = async (n: number): Promise<string> => {
    const text = n % 4 === 0 ? 'x'.repeat(LARGE_CHARS) : `run ${n}`;
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    const body = JSON.stringify({ input: { text } });
    const answer = await answered(node, 'POST', '/v1/workflows/short-lived/run', { headers, body });
    return String(answer.execution_id);
  };
  const kill = async (): Promise<number> => {
    await pause(random() * 400);
    await node.kill();
    node.spawn();
    return performance.now();
  };
  const kept = Promise.all(Array.from({ length: KEPT }, (_, n) => startOne(n)));
  const removed = Promise.all(
    Array.from({ length: DELETED }, async (_, n) => {
      const id = await startOne(n);
      await pause(random() * 250);
      await answered(node, 'DELETE', `/v1/workflows/executions/${id}`, {}, 404);
      return id;
    }),
  );
  const [keptIds, removedIds, killedAt] = await Promise.all([kept, removed, kill()]);
  let left = removedIds.length;
  const until = performance.now() + RECOVER_WITHIN_MS;
  for (; left > 0 && performance.now() < until; await pause(AGAIN_MS * 5)) left = await leftOf(documents, removedIds);
  const recoveryMs = performance.now() - killedAt;
  const statuses = await Promise.all(
    keptIds.map((id) => answered(node, 'GET', `/v1/workflows/executions/${id}`, {}, 404).then((run) => run.status)),
  );
  return {
    runs: keptIds.length + removedIds.length,
    hung: left,
    nodesEnded: node.crashed ? 1 : 0,
    lost: statuses.filter((status) => status !== 'completed').length,
    repeated: 0,
    recoveryMs,
  };
}

/** How many of them documents still know, by record or by event. */
async function leftOf(documents: Documents, ids: readonly string[]): Promise<number> {
  const actors = await documents.collection({ name: 'archived_actors', unique: [], indexes: [] });
  const events = await documents.collection({ name: 'archived_events', unique: [], indexes: [] });
  let left = 0;
  for (const tenant of await actors.tenants()) {
    const addresses = ids.map((id) => `workflow/${tenant}/${id}`);
    left += await actors.count({ tenant, where: { id: { in: addresses } } });
    left += await events.count({ tenant, where: { address: { in: addresses } } });
  }
  return left;
}

/** Repeats a call until a node that lives long enough answers it. */
async function answered(
  node: Pick<NodeProcess, 'url'>,
  method: string,
  path: string,
  init: RequestInit,
  also?: number,
): Promise<Record<string, unknown>> {
  for (;;) {
    const answer = await node.url.then((url) => fetch(`${url}${path}`, { ...init, method })).catch(() => null);
    const text = answer === null || answer.status === 503 ? null : await answer.text().catch(() => null);
    if (answer !== null && text !== null) {
      if (!answer.ok && answer.status !== also) throw new Error(`${method} ${path} answered ${answer.status} ${text}`);
      const parsed: unknown = text === '' ? {} : JSON.parse(text);
      return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
    }
    await pause(AGAIN_MS);
  }
}
