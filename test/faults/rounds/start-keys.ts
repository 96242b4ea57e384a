import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { SeededRandom } from '../../kill/random.ts';
import { type KillStores, type StoreKind, startStores } from '../../kill/stores.ts';
import { type Journal, makeJournal } from '../../support/journal.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, stillUnderWay, timeLeftMs } from './quiet.ts';

const KEYS = 8;
/** Starts under one key at the same time. */
const AT_ONCE = 3;
const LATEST_KILL_MS = 200;
const ENDED = new Set<unknown>(['completed', 'failed', 'cancelled']);

/** Its command leaves the word of its start and its run in the journal. */
const workflow = (journal: string): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'worded', version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'fail' } },
    spec: {
      initial_state: 'MARK',
      states: {
        MARK: {
          ...{ kind: 'System', command: `echo "$WORD $SVC_EXECUTION_ID" >> '${journal}'` },
          ...{ env: { WORD: '{{input.word}}' }, transitions: [] },
        },
      },
    },
  });

/** The id that a key names was answered for ever, also when nothing was there any more. */
export const startKeys: FaultCase = {
  name: 'start-keys',
  title:
    'what a key started is deleted and the key used again, several times at once, while the node is killed: it starts one new run, which is there',
  stores: ['sqlite', 'redis'],
  open: openSurroundings,
};

interface Setup {
  readonly stores: KillStores;
  readonly node: NodeProcess;
  readonly calls: WorkflowCalls;
  readonly journal: Journal;
}

async function openSurroundings(store: StoreKind): Promise<FaultStores> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-start-keys-'));
  const journal = await makeJournal(directory);
  const stores = await startStores(store);
  const config = join(directory, 'svc.yaml');
  const spec = { runtime: journal.runtime };
  await writeFile(config, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec }));
  const node = new NodeProcess([...stores.args, '--config', config]);
  node.spawn();
  const forever = new AbortController();
  const calls = new WorkflowCalls(node, forever.signal);
  await calls.deploy(workflow(journal.file));
  return {
    round: (seed) => round({ stores, node, calls, journal }, seed),
    async close() {
      forever.abort();
      await node.kill();
      await stores.destroy();
      await removeTree(directory);
    },
  };
}

/** One key: the run before it was deleted, and what the starts behind that were answered. */
interface Reused {
  readonly word: string;
  readonly first: string;
  readonly answers: readonly string[];
}

async function round({ stores, node, calls, journal }: Setup, seed: number): Promise<RoundOutcome> {
  const random = new SeededRandom(seed);
  const hasEnded = async (id: string): Promise<boolean> => ENDED.has((await calls.get(id)).status);
  const words = Array.from({ length: KEYS }, () => ({ key: randomUUID(), before: randomUUID(), word: randomUUID() }));
  const firsts = await Promise.all(
    words.map(async ({ key, before }) => {
      const id = await calls.run('worded', { input: { word: before } }, key);
      await waitUntil(`run ${id} ends`, () => hasEnded(id), 60_000);
      return id;
    }),
  );
  const kill = async (): Promise<void> => {
    await pause(random.between(0, LATEST_KILL_MS));
    await node.kill();
    node.spawn();
    await node.url;
  };
  const reuse = async ({ key, word }: (typeof words)[number], n: number): Promise<Reused> => {
    const first = firsts[n] ?? '';
    await calls.remove(first);
    const start = () => calls.run('worded', { input: { word } }, key);
    return { word, first, answers: await Promise.all(Array.from({ length: AT_ONCE }, start)) };
  };
  const [reused] = await Promise.all([Promise.all(words.map(reuse)), kill()]);
  const upAt = performance.now();
  const notes: string[] = [];
  const open: string[] = [];
  let lost = 0;
  for (const { first, answers } of reused) {
    const [id = '', ...others] = new Set(answers);
    if (id === first || others.length > 0) {
      lost += 1;
      notes.push(`a key that named ${first} was answered ${[id, ...others].join(', ')}`);
      continue;
    }
    // An id that names nothing is 404, which these calls refuse.
    const isOver = waitUntil(`run ${id} ends`, () => hasEnded(id), timeLeftMs(upAt));
    await isOver.catch((error: unknown) => {
      open.push(id);
      notes.push(String(error));
    });
  }
  const all = [...firsts, ...reused.flatMap(({ answers }) => [...new Set(answers)])];
  const ended = all.filter((id) => !open.includes(id));
  const broken = await stillUnderWay(upAt, { location: stores.location, url: await node.url, ended });
  const recoveryMs = performance.now() - upAt;
  // Two runs of one word, or two commands of one run.
  const mine = new Set<string>(words.flatMap(({ before, word }) => [before, word]));
  const marks = (await journal.lines()).map((line) => line.split(' ')[0] ?? '').filter((word) => mine.has(word));
  return {
    runs: all.length,
    hung: open.length + broken.length,
    nodesEnded: node.crashed ? 1 : 0,
    lost,
    repeated: repeatsIn(marks),
    recoveryMs,
    notes: [...notes, ...broken],
  };
}
