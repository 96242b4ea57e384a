import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Documents } from '../../../runtime/documents.ts';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { type NodeOnStores, openNodeOnStores } from '../../kill/node-on-stores.ts';
import { SeededRandom } from '../../kill/random.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, stillUnderWay, timeLeftMs } from './quiet.ts';

/** A workflow that ends within its start. */
const SHORT = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: short-lived, version: "1.0.0" }
spec:
  initial_state: KEEP
  states:
    KEEP: { kind: System, command: update_blackboard, env: { kept: "{{input.text}}" }, transitions: [] }
`;
/** Its command writes its run to the journal, and is not run again when it is in doubt. */
const marked = (journal: string): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'marked', version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'fail' } },
    spec: {
      initial_state: 'MARK',
      states: { MARK: { kind: 'System', command: `echo "$SVC_EXECUTION_ID" >> '${journal}'`, transitions: [] } },
    },
  });
/** Number of short runs. */
const DELETED = 10;
const KEPT = 5;
/** Number of runs with a command; every second one is deleted when it has ended. */
const MARKED = 6;
const LARGE_CHARS = 80_000;
/** Page size, above the number of runs that two rounds leave. */
const MOST_LISTED = 20;
const ENDED = new Set<unknown>(['completed', 'failed', 'cancelled']);
const AGAIN_MS = 100;

/** Runs that are deleted right after their end, while their node is killed. */
export const removedRuns: FaultCase = {
  name: 'removed-runs',
  title:
    'runs deleted right after their end, while the node is killed with -9: no record of them stays, and other runs are unchanged',
  stores: ['sqlite', 'redis'],
  open,
};

interface Setup extends NodeOnStores {
  readonly calls: WorkflowCalls;
  readonly documents: Documents;
}

async function open(store: StoreKind): Promise<FaultStores> {
  const at = await openNodeOnStores(store, {
    spec: ({ journal: { runtime } }) => ({ retention: { interval_secs: 1 }, runtime }),
  });
  at.node.spawn();
  const closed = new AbortController();
  const calls = new WorkflowCalls(at.node, closed.signal);
  for (const manifest of [SHORT, marked(at.journal.file)]) await calls.deploy(manifest);
  const documents = documentsAt(at.location);
  await documents.open();
  return {
    round: (seed) => round({ ...at, calls, documents }, seed),
    async close() {
      closed.abort();
      await documents.close();
      await at[Symbol.asyncDispose]();
    },
  };
}

/** A connection of the test, to read the documents that the node has written. */
function documentsAt({ mongodb, dataDir }: NodeOnStores['location']): Documents {
  return mongodb === undefined ? new SqliteDocuments({ directory: dataDir }) : new MongoDocuments({ uri: mongodb });
}

async function round({ location, node, calls, documents, journal }: Setup, seed: number): Promise<RoundOutcome> {
  const seeded = new SeededRandom(seed);
  const random = (): number => seeded.fraction();
  const startShort = (n: number): Promise<string> => {
    const text = n % 4 === 0 ? 'x'.repeat(LARGE_CHARS) : `run ${n}`;
    return calls.run('short-lived', { input: { text } }, randomUUID());
  };
  const hasEnded = async (id: string): Promise<boolean> => ENDED.has((await calls.get(id)).status);
  const kill = async (): Promise<number> => {
    await pause(random() * 400);
    await node.kill();
    node.spawn();
    return performance.now();
  };
  const kept = Promise.all(Array.from({ length: KEPT }, (_, n) => startShort(n)));
  const removed = Promise.all(
    Array.from({ length: DELETED }, async (_, n) => {
      const id = await startShort(n);
      await pause(random() * 250);
      await calls.remove(id);
      return id;
    }),
  );
  const marked = Promise.all(
    Array.from({ length: MARKED }, async (_, n) => {
      const id = await calls.run('marked', {}, randomUUID());
      if (n % 2 === 0) return { id, isRemoved: false };
      const isOver = await waitUntil(`run ${id} ends`, () => hasEnded(id), 60_000).catch(() => false);
      if (isOver) await calls.remove(id);
      return { id, isRemoved: isOver };
    }),
  );
  const [keptIds, shortIds, markedRuns, killedAt] = await Promise.all([kept, removed, marked, kill()]);
  const removedIds = [...shortIds, ...markedRuns.flatMap(({ id, isRemoved }) => (isRemoved ? [id] : []))];
  const stays = [...keptIds, ...markedRuns.flatMap(({ id, isRemoved }) => (isRemoved ? [] : [id]))];
  await node.url;
  const upAt = performance.now();
  const open: string[] = [];
  for (const id of stays) {
    await waitUntil(`run ${id} ends`, () => hasEnded(id), timeLeftMs(upAt)).catch(() => open.push(id));
  }
  let left = removedIds.length;
  for (; left > 0 && timeLeftMs(upAt) > 0; await pause(AGAIN_MS)) left = await leftOf(documents, removedIds);
  const ended = [...removedIds, ...stays.filter((id) => !open.includes(id))];
  const url = await node.url;
  // Later rounds list more and more runs, and each read loads the payload of every large one.
  const broken = await stillUnderWay(upAt, { location, url, ended, mostListed: MOST_LISTED });
  const recoveryMs = performance.now() - killedAt;
  const lost = await Promise.all(stays.map(async (id) => !(open.includes(id) || (await endedWell(calls, id)))));
  const marks = (await journal.lines()).filter((id) => markedRuns.some((run) => run.id === id));
  return {
    runs: keptIds.length + shortIds.length + markedRuns.length,
    hung: open.length + left + broken.length,
    nodesEnded: node.crashed ? 1 : 0,
    lost: lost.filter(Boolean).length,
    repeated: repeatsIn(marks),
    recoveryMs,
    notes: [...(left > 0 ? [`documents know ${left} deleted runs`] : []), ...broken],
  };
}

/** A command that was under way when its node was killed may be in doubt: its run reports it. */
async function endedWell(calls: WorkflowCalls, id: string): Promise<boolean> {
  const { status } = await calls.get(id);
  return status === 'completed' || JSON.stringify(await calls.log(id)).includes('in_doubt');
}

/** Number of these runs that documents still contain, as a record or an event. */
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
