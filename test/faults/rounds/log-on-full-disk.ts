import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { SeededRandom } from '../../kill/random.ts';
import { type StoreKind, startStores } from '../../kill/stores.ts';
import { objectOf } from '../../product/product-node.ts';
import { type Journal, makeJournal } from '../../support/journal.ts';
import { LIVENESS_MS, type LivenessOptions } from '../../support/liveness.ts';
import { writeNodeConfig } from '../../support/node-config.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { limitedFiles, type SmallDisk, smallFileSystem } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, stillUnderWay, timeLeftMs } from './quiet.ts';

const NO_ROOM = /unavailable.*this node cannot store the files of a program \(E[A-Z]+\)/;
const ENDED = new Set(['completed', 'failed', 'cancelled']);
/** Limit for a read while the disk is full; a node that waits for its log answers no call. */
const READ_WITHIN_MS = 5_000;

/** Its command writes its run to the journal. */
const workflow = (journal: string): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'short', version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'fail' } },
    spec: {
      initial_state: 'MARK',
      states: {
        MARK: {
          ...{ kind: 'System', command: `echo "$SVC_EXECUTION_ID" >> '${journal}'` },
          transitions: [{ condition: 'on_success', target: 'END' }],
        },
        END: { kind: 'System', command: 'finalize', env: {}, transitions: [] },
      },
    },
  });

/** Found a defect: retries of the log on the node's only thread ended the node when there was space again. */
export const logOnFullDisk: FaultCase = {
  name: 'log-on-full-disk',
  title:
    'Log and data directory are on a full disk: reads answer, starts are refused, or run where the store is elsewhere, and everything continues when there is space',
  stores: ['sqlite', 'redis'],
  open: openSurroundings,
};

/** A node whose log and data directory are on a small disk; its servers, where it has any, are elsewhere. */
interface Setup {
  readonly node: NodeProcess;
  readonly disk: SmallDisk;
  readonly log: string;
  readonly location: LivenessOptions['location'];
  readonly journal: Journal;
}

async function openSurroundings(store: StoreKind): Promise<FaultStores> {
  await using opened = new AsyncDisposableStack();
  const disk = (await smallFileSystem()) ?? (await limitedFiles());
  if (disk === null) throw new Error('this user cannot mount a small disk');
  opened.use(disk);
  const directory = await mkdtemp(join(tmpdir(), 'svc-full-log-'));
  opened.defer(() => removeTree(directory));
  const journal = await makeJournal(directory);
  const dataDir = join(disk.directory, 'data');
  const stores = store === 'sqlite' ? null : await startStores(store);
  if (stores !== null) opened.defer(() => stores.destroy());
  const { redis, mongodb } = stores?.location ?? {};
  const config = await writeNodeConfig(directory, {
    observability: { logging: { level: 'debug' } },
    runtime: journal.runtime,
    ...(stores === null ? {} : { stores: { redis: redis?.[0], mongodb } }),
  });
  const log = join(disk.directory, 'node.log');
  const descriptor = openSync(log, 'a');
  opened.defer(() => closeSync(descriptor));
  const node = new NodeProcess(['--data', dataDir, '--config', config], {}, descriptor);
  opened.defer(() => node.kill());
  node.spawn();
  const setup: Setup = { node, disk, log, location: { dataDir, redis }, journal };
  const type = { 'content-type': 'application/yaml' };
  const deployed = await call(setup, 'POST', '/v1/workflows', { body: workflow(journal.file), headers: type });
  if (!deployed.ok) throw new Error(`deploy: ${await deployed.text()}`);
  const all = opened.move();
  return { round: (seed) => round(setup, seed), close: () => all.disposeAsync() };
}

async function call({ node }: Setup, method: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${await node.url}${path}`, { ...init, method, signal: AbortSignal.timeout(READ_WITHIN_MS) });
}

/** Null: the start was refused. */
async function start(setup: Setup): Promise<string | null> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
  const answer = await call(setup, 'POST', '/v1/workflows/short/run', { body: '{}', headers }).catch(() => null);
  return answer?.ok === true ? String(objectOf(await answer.text()).execution_id) : null;
}

async function statusOf(setup: Setup, id: string): Promise<string> {
  const answer = await call(setup, 'GET', `/v1/workflows/executions/${id}`).catch(() => null);
  return answer?.ok === true ? String(objectOf(await answer.text()).status) : 'unanswered';
}

function droppedLines({ log }: Setup): number {
  const said = readFileSync(log, 'utf8').matchAll(/"dropped_lines":(\d+)/g);
  return [...said].reduce((sum, [, n]) => sum + Number(n), 0);
}

async function round(setup: Setup, seed: number): Promise<RoundOutcome> {
  const { node, disk, location, journal } = setup;
  const random = new SeededRandom(seed);
  const notes: string[] = [];
  const before = await start(setup);
  if (before === null) notes.push('a start with room on the disk was refused');
  const ids = before === null ? [] : [before];
  const droppedBefore = droppedLines(setup);
  await disk.fill(node.pid);
  const full = await whileFull(setup, before, random.between(5, 20));
  ids.push(...full.started);
  await disk.free(node.pid);
  const since = performance.now();
  const after = await waitUntil('a start is accepted again', () => start(setup), LIVENESS_MS).catch(() => null);
  if (after !== null) ids.push(after);
  const ended = async (id: string): Promise<boolean> => ENDED.has(await statusOf(setup, id));
  const all = async (): Promise<boolean> => (await Promise.all(ids.map(ended))).every(Boolean);
  await waitUntil('all runs end', all, timeLeftMs(since)).catch(() => undefined);
  const statuses = await Promise.all(ids.map((id) => statusOf(setup, id)));
  const over = ids.filter((_, n) => ENDED.has(statuses[n] ?? ''));
  const broken = await stillUnderWay(since, { location, url: await node.url, ended: over });
  const recoveryMs = performance.now() - since;
  const marks = (await journal.lines()).filter((id) => ids.includes(id));
  const unmarked = ids.filter((id, n) => statuses[n] === 'completed' && !marks.includes(id)).length;
  const failed = ids.filter((_, n) => statuses[n] === 'failed');
  const reasons = await Promise.all(failed.map((id) => call(setup, 'GET', `/v1/workflows/executions/${id}`)));
  const texts = await Promise.all(reasons.map((answer) => answer.text()));
  // A command needs space on the node that runs it: with the store elsewhere its run fails with this error.
  const unsaid = texts.filter((text) => !NO_ROOM.test(text));
  notes.push(`${failed.length - unsaid.length} runs failed since their commands had no space`, ...unsaid);
  if (full.unread > 0) notes.push(`${full.unread} of ${full.reads} reads were not answered while the disk was full`);
  const newlyDropped = droppedLines(setup) - droppedBefore;
  if (newlyDropped > 0) notes.push(`${newlyDropped} lines of the log were dropped and reported`);
  const nodesEnded = node.crashed ? 1 : 0;
  if (nodesEnded > 0) node.spawn();
  return {
    runs: ids.length,
    hung: ids.length - over.length + (after === null ? 1 : 0) + broken.length,
    nodesEnded,
    lost: unsaid.length + full.unread + unmarked,
    repeated: repeatsIn(marks),
    recoveryMs,
    notes: [...notes, ...broken],
  };
}

interface WhileFull {
  readonly reads: number;
  /** Of these, the ones that were refused. */
  readonly unread: number;
  /** Runs whose start was accepted. */
  readonly started: readonly string[];
}

async function whileFull(setup: Setup, before: string | null, times: number): Promise<WhileFull> {
  const started: string[] = [];
  let unread = 0;
  for (let n = 0; n < times; n += 1) {
    // Each call is a line of the log; a few still fit into the page.
    const wrong = await call(setup, 'GET', `/v1/no-such-path/${'x'.repeat(300)}`).catch(() => null);
    const read = before === null ? null : await statusOf(setup, before);
    unread += (wrong?.status === 404 ? 0 : 1) + (read === 'unanswered' ? 1 : 0);
    const id = await start(setup);
    if (id !== null) started.push(id);
  }
  return { reads: 2 * times, unread, started };
}
