import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { type NodeOnStores, openNodeOnStores } from '../../kill/node-on-stores.ts';
import { SeededRandom } from '../../kill/random.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, stillUnderWay, timeLeftMs } from './quiet.ts';

const KEYS = 8;
/** Starts under one key at the same time. */
const AT_ONCE = 3;
const LATEST_KILL_MS = 200;
const ENDED = new Set<unknown>(['completed', 'failed', 'cancelled']);

/** A workflow whose command writes the `word` of its input and the id of its run to the journal. */
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

/** Found a defect: a key kept returning the id of its run after the run was deleted. */
export const startKeys: FaultCase = {
  name: 'start-keys',
  title:
    'the run of a key is deleted and the key used again several times at once while the node is killed: one new run exists',
  stores: ['sqlite', 'redis'],
  open,
};

interface Setup extends NodeOnStores {
  readonly calls: WorkflowCalls;
}

async function open(store: StoreKind): Promise<FaultStores> {
  const at = await openNodeOnStores(store);
  at.node.spawn();
  const closed = new AbortController();
  const calls = new WorkflowCalls(at.node, closed.signal);
  await calls.deploy(workflow(at.journal.file));
  return {
    round: (seed) => round({ ...at, calls }, seed),
    async close() {
      closed.abort();
      await at[Symbol.asyncDispose]();
    },
  };
}

/** One key: the run that was deleted, and the answers to the starts after the removal. */
interface Reused {
  readonly word: string;
  readonly first: string;
  readonly answers: readonly string[];
}

async function round({ location, node, calls, journal }: Setup, seed: number): Promise<RoundOutcome> {
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
    // For an id without a run these calls reject with 404.
    const isOver = waitUntil(`run ${id} ends`, () => hasEnded(id), timeLeftMs(upAt));
    await isOver.catch((error: unknown) => {
      open.push(id);
      notes.push(String(error));
    });
  }
  const all = [...firsts, ...reused.flatMap(({ answers }) => [...new Set(answers)])];
  const ended = all.filter((id) => !open.includes(id));
  const broken = await stillUnderWay(upAt, { location, url: await node.url, ended });
  const recoveryMs = performance.now() - upAt;
  // Two runs with one `word`, or two commands of one run, are repeats.
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
