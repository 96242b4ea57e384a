import { randomUUID } from 'node:crypto';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import { NO_BUILT_INS } from '../../catalog/built-in/api.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { PageAsked } from '../../runtime/documents/pages.ts';
import type { Documents } from '../../runtime/documents.ts';
import { systemRandom } from '../../runtime/random.ts';
import { EXECUTIONS, type ExecutionApi, type ExecutionDocument } from '../../usecases/executions.ts';
import { createRunsApi } from '../../usecases/runs/list-runs.ts';
import type { RunFilter } from '../../usecases/runs/run-filter.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowApi, type WorkflowExecutionDocument } from '../../usecases/workflow-runs.ts';
import { closedLoop, medianOf } from '../load.ts';
import { longExecution } from '../management/log.ts';
import { startListingNode } from '../management/node.ts';
import { type BenchStore, benchStores } from '../management/stores.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { benchAgents } from '../search/agents.ts';
import { storeAgents } from '../search/stored.ts';

const TENANT = 'bench';
const BAR_MS = 50;
const BATCH = 1_000;
const WORKFLOWS = 5;
const IN_FLIGHT = [1, 16];
const ENTRIES = [1_000, 10_000, 100_000];
/** Each takes a second: many short measurements are better on a machine with other work. */
const ROUNDS = 5;
const ROUND_MS = 1_000;
/** Sizes for a store that scans: enough to see the growth. */
const SCANNED = [200, 2_000];

interface Question {
  readonly what: string;
  /** Fills the store up to this many; returns the call to measure. */
  readonly grow: (count: number) => Promise<(at: number) => Promise<unknown>>;
  /** Whether it reads by key alone, which FerretDB with an index on `_id` has an index for. */
  readonly isByKey?: boolean;
}

/** Lists and logs as their store grows tenfold: svc.agent.list, svc.workflow.executions.list, svc.task.logs. */
export async function management(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const { open } of await benchStores()) {
    const store = await open();
    const node = await startListingNode(store.documents);
    try {
      const catalog = await createAgentCatalog({
        ...{ documents: store.documents, clock: systemClock, random: systemRandom, builtIns: NO_BUILT_INS },
      });
      store.ready();
      const questions = [
        agentList(store.documents, catalog),
        ...runLists(store.documents, node.runs),
        ...allRunsLists(store.documents),
        logs((count) => longExecution(node, store.documents, TENANT, count), node.executions),
      ];
      // An index on keys changes nothing for lists.
      const asked = questions.filter(({ isByKey }) => isByKey === true || store.isIndexed || !store.hasKeyIndex);
      rows.push(...(await measured(store, asked, plan)));
    } finally {
      await node.stop();
      await store.stop();
    }
  }
  const head = [
    'store',
    'call',
    'entries',
    'in flight',
    'calls/s',
    'p50 ms',
    'p99 ms',
    `p99 ≤ ${BAR_MS}`,
    'CPU ms',
    'to shortest',
  ];
  return { title: 'Lists and logs as their store grows', text: [table(head, rows), NOTES].join('\n\n') };
}

const NOTES = `Entries are of one tenant, put into the collections as the product writes them. CPU ms is of this process, a call: the work
of SQLite is in it, that of FerretDB is not. A list of agents holds the first 1,000 by name (the tool has no paging), of executions 20.
To shortest is that CPU time against the
same call on the shortest list: 1 is flat. "Behind" pages begin behind nine tenths of the list, by token or by offset. Where FerretDB reads whole collections (decision 0020) lists are measured with few entries.`;

/** Length by length, all questions at each: they share collections, which only grow. */
async function measured(store: BenchStore, questions: readonly Question[], plan: Plan): Promise<string[][]> {
  const rows = new Map(questions.map((question): [Question, string[][]] => [question, []]));
  /** CPU ms of a call on the shortest list, by question and calls in flight. */
  const shortest = new Map<string, number>();
  for (const count of [...SCANNED, ...ENTRIES]) {
    for (const [question, told] of rows) {
      const scans = !store.isIndexed && !(question.isByKey === true && store.hasKeyIndex);
      const lengths = scans && question.isByKey !== true ? SCANNED : ENTRIES;
      if (!lengths.includes(count)) continue;
      const call = await question.grow(count);
      for (const inFlight of scans ? [1] : IN_FLIGHT) {
        const { cells, cpuMs } = await rounds(call, inFlight, plan);
        const key = `${question.what} ${inFlight}`;
        const first = shortest.get(key) ?? cpuMs;
        shortest.set(key, first);
        const ratio = (cpuMs / first).toFixed(2);
        told.push([store.name, question.what, whole(count), `${inFlight}`, ...cells, cpuMs.toFixed(2), ratio]);
        console.error(told.at(-1)?.join(' | '));
      }
    }
  }
  return [...rows.values()].flat();
}

async function rounds(
  call: (at: number) => Promise<unknown>,
  inFlight: number,
  plan: Plan,
): Promise<{ readonly cells: string[]; readonly cpuMs: number }> {
  const runs = [];
  let calls = 0;
  const cpu = process.cpuUsage();
  const runMs = Math.min(plan.runMs, ROUND_MS);
  for (let round = 0; round < (plan.repetitions === 1 ? 1 : ROUNDS); round += 1) {
    runs.push(
      await closedLoop({ inFlight, warmUpMs: runMs / 4, runMs }, async (at) => {
        calls += 1;
        await call(at);
      }),
    );
  }
  const { user, system } = process.cpuUsage(cpu);
  const { perSecond, p50Ms, p99Ms } = medianOf(runs);
  const cells = [whole(perSecond), p50Ms.toFixed(2), p99Ms.toFixed(2), p99Ms <= BAR_MS ? 'yes' : '**no**'];
  return { cells, cpuMs: (user + system) / 1_000 / calls };
}

function agentList(documents: Documents, catalog: Awaited<ReturnType<typeof createAgentCatalog>>): Question {
  const words = benchAgents(BATCH).map((agent) => ({ ...agent, yaml: '' }));
  let have = 0;
  return {
    what: 'agent.list',
    async grow(count) {
      for (; have < count; have += Math.min(BATCH, count - have)) {
        const some = words.slice(0, count - have).map((agent) => ({ ...agent, name: `${agent.name}-${have}` }));
        await storeAgents(documents, TENANT, some);
      }
      return () => catalog.list({ tenant: TENANT, subject: 'ada' });
    },
  };
}

function runLists(documents: Documents, runs: WorkflowApi): Question[] {
  const workflows = Array.from({ length: WORKFLOWS }, () => randomUUID());
  let have = 0;
  const grow = async (count: number): Promise<void> => {
    const collection = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
    for (; have < count; have += Math.min(BATCH, count - have)) {
      const length = Math.min(BATCH, count - have);
      await collection.putMany(Array.from({ length }, (_, at) => runOf(have + at, workflows[(have + at) % WORKFLOWS])));
    }
  };
  const question = (
    what: string,
    page: (at: number, count: number) => Parameters<WorkflowApi['list']>[1],
  ): Question => ({
    what: `workflow.executions.list, ${what}`,
    async grow(count) {
      await grow(count);
      return async (at) => {
        const { items, total } = await runs.list(TENANT, page(at, count));
        if (items.length !== 20 || total === 0) throw new Error(`a page of ${items.length} of ${total}`);
      };
    },
  });
  const behind = (what: string, from: (count: number) => Promise<Partial<PageAsked>>): Question => ({
    what: `workflow.executions.list, ${what}`,
    async grow(count) {
      await grow(count);
      const page = { limit: 20, ...(await from(count)) };
      const [wanted] = (await runs.list(TENANT, { limit: 1, skip: (count * 9) / 10 })).items;
      return async () => {
        const { items, total } = await runs.list(TENANT, page);
        if (items.length !== 20 || total !== count || items[0]?.execution_id !== wanted?.execution_id)
          throw new Error(`a page of ${items.length} of ${total}`);
      };
    },
  });
  const workflowOf = (at: number): string => workflows[at % WORKFLOWS] ?? '';
  return [
    question('newest', () => ({ limit: 20 })),
    behind('behind by token', async (count) => {
      // The token of a client that has read all pages up to here.
      const { next_page_token } = await runs.list(TENANT, { limit: 1, skip: (count * 9) / 10 - 1 });
      return next_page_token === undefined ? {} : { pageToken: next_page_token };
    }),
    behind('behind by offset', async (count) => ({ skip: (count * 9) / 10 })),
    question('of a workflow', (at) => ({ limit: 20, workflowId: workflowOf(at) })),
  ];
}

/** Executions beside the runs of workflows that `runLists` has put there, in one list. */
function allRunsLists(documents: Documents): Question[] {
  let have = 0;
  const grow = async (count: number) => {
    const executions = await documents.collection<ExecutionDocument>(EXECUTIONS);
    const workflows = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
    for (; have < count; have += Math.min(BATCH, count - have)) {
      const length = Math.min(BATCH, count - have);
      await executions.putMany(Array.from({ length }, (_, at) => executionOf(have + at)));
    }
    return createRunsApi({ executions, workflows, client: { isServed: async () => true } });
  };
  const question = (what: string, filter: RunFilter, length: number, isDeep = false): Question => ({
    what: `runs.list, ${what}`,
    async grow(count) {
      const api = await grow(count);
      let next: string | undefined;
      for (let seen = 0; isDeep && seen < count; seen += BATCH)
        ({ next } = await api.list(TENANT, {}, { limit: BATCH, next }));
      return async () => {
        const { runs } = await api.list(TENANT, filter, { limit: 50, next });
        if (runs.length !== length) throw new Error(`a page of ${runs.length}`);
      };
    },
  });
  return [
    question('newest', {}, 50),
    question('in the middle, by token', {}, 50, true),
    question('of a name', { kind: 'execution', name: 'bench' }, 50),
    question('failed', { status: ['failed'] }, 50),
    question('of a label that one in twenty has', { kind: 'execution', labels: [['team', '7']] }, 50),
    question('of a label that none has', { labels: [['team', 'none']] }, 0),
  ];
}

const executionOf = (n: number): ExecutionDocument => {
  const at = new Date(1_700_000_000_000 + n * 1_000).toISOString();
  return {
    ...{ tenant: TENANT, id: randomUUID(), version: 1, agent_id: 'a', agent_name: 'bench', agent_version: '1.0.0' },
    ...{ status: n % 10 === 0 ? 'failed' : 'completed', iteration_count: 1, last_error: null, last_output: 'done' },
    ...{ started_at: at, ended_at: at, updated_at: at, reason: n % 10 === 0 ? 'timed_out' : null, in_doubt: 0 },
    ...{ usage: { input_tokens: 1, output_tokens: 1, cost: 0 }, workflow_execution_id: null, removed: false },
    labels: { team: String(n % 20) },
  };
};

function runOf(n: number, workflow_id = ''): WorkflowExecutionDocument {
  const at = new Date(1_700_000_000_000 + n * 1_000).toISOString();
  return {
    ...{ tenant: TENANT, id: randomUUID(), version: 1, workflow_id, workflow_name: 'bench', workflow_version: '1.0.0' },
    ...{ status: 'completed', current_state: null, reason: null, error: null, removed: false },
    ...{ started_at: at, last_transition_at: at, ended_at: at },
  };
}

function logs(longer: (count: number) => Promise<string>, executions: ExecutionApi): Question {
  return {
    what: 'task.logs',
    isByKey: true,
    async grow(count) {
      const id = await longer(count);
      return async (at) => {
        const offset = (at * 7_919) % (count - 50);
        const { events, total } = await executions.logs(TENANT, id, { limit: 50, offset });
        if (events.length !== 50 || events[0]?.sequence !== offset + 1 || total !== count)
          throw new Error(`a page of ${events.length} behind ${offset} of ${total}`);
      };
    },
  };
}
