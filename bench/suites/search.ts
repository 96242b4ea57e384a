import MiniSearch from 'minisearch';
import type { CatalogSearch } from '../../catalog/api.ts';
import { NO_BUILT_INS } from '../../catalog/built-in/api.ts';
import { createCatalogSearch } from '../../catalog/search/catalog-search.ts';
import { NodeCortex } from '../../manifests/node/models.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { ROWS } from '../../test/catalog/search/corpus.ts';
import { closedLoop, medianOf } from '../load.ts';
import { benchStores, FERRETDB } from '../management/stores.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type BenchAgent, benchAgents } from '../search/agents.ts';
import { storeAgents } from '../search/stored.ts';

const SIZES = [1_000, 10_000];
const TENANT = 'bench';
/** Building the index of more takes minutes with it. */
const FERRETDB_MOST = 1_000;
const IN_FLIGHT = [1, 16];

/** Search over 1,000 and 10,000 agents of a tenant on both document stores, beside MiniSearch over the same texts. */
export async function search(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const count of SIZES) {
    const agents = benchAgents(count);
    for (const { name, open } of await benchStores()) {
      if (name === FERRETDB && count > FERRETDB_MOST) {
        rows.push([name, whole(count), 'omitted: every read scans (decision 0020)']);
        continue;
      }
      const { documents, ready, stop } = await open();
      try {
        await createCatalogSearch(partsOf(documents));
        ready();
        await storeAgents(documents, TENANT, agents);
        rows.push(...(await measured(`svc, ${name}`, agents, plan, () => opened(documents))));
      } finally {
        await stop();
      }
    }
    rows.push(...(await measured('MiniSearch, in memory', agents, plan, async () => miniSearch(agents))));
  }
  const head = ['peer', 'agents', 'first search ms', 'bytes an agent', 'in flight', 'searches/s', 'p50 ms', 'p99 ms'];
  return { title: 'Search over the catalog', text: [table(head, rows), NOTES].join('\n\n') };
}

const NOTES = `A search of svc looks for changes, ranks, and reads the records of what it found before it answers;
MiniSearch (BM25+, the same four fields, words stemmed the same way) only ranks. The first search reads all records and
manifests and builds the index. Bytes are of the heap and of array buffers after a collection. Queries are those of the relevance table and
three words of some agent's description, in turns.`;

/** Answers the names it found, best first. */
type Ask = (query: string) => Promise<readonly string[]>;

async function measured(peer: string, agents: readonly BenchAgent[], plan: Plan, open: () => Promise<Ask>) {
  const queries = queriesOf(agents);
  const before = memory();
  const startedAt = performance.now();
  const ask = await open();
  await ask('warm');
  const firstMs = performance.now() - startedAt;
  const bytes = (memory() - before) / agents.length;
  // A store that loses rows would make the index small and fast.
  for (const { name } of [agents[0], agents.at(-1)].flatMap((agent) => agent ?? []))
    if (!(await ask(name)).includes(name)) throw new Error(`${peer} does not find ${name}: its index is not whole`);
  const rows: string[][] = [];
  for (const inFlight of IN_FLIGHT) {
    const runs = [];
    for (let round = 0; round < plan.repetitions; round += 1) {
      const load = { inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs };
      runs.push(await closedLoop(load, async (at) => void (await ask(queries[at % queries.length] ?? 'agent'))));
    }
    const { perSecond, p50Ms, p99Ms } = medianOf(runs);
    console.error(`${peer}, ${whole(agents.length)} agents, ${inFlight} in flight: p99 ${p99Ms.toFixed(2)} ms`);
    const once = inFlight === 1 ? [firstMs.toFixed(0), whole(bytes)] : ['', ''];
    rows.push([
      peer,
      whole(agents.length),
      ...once,
      `${inFlight}`,
      whole(perSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
    ]);
  }
  return rows;
}

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const queriesOf = (agents: readonly BenchAgent[]): string[] =>
  ROWS.flatMap(({ query }, at) => {
    const description = agents[(at * 97) % agents.length]?.description ?? '';
    return [query, description.split(' ').slice(0, 3).join(' ')];
  });

const partsOf = (documents: Documents) => ({
  ...{ documents, clock: systemClock, builtIns: NO_BUILT_INS, settings: NodeCortex.parse({}) },
  warn: (message: string) => console.error(message),
});

async function opened(documents: Documents): Promise<Ask> {
  const catalog: CatalogSearch = await createCatalogSearch(partsOf(documents));
  return async (query) => (await catalog.agents({ tenant: TENANT, subject: 'ada' }, { query })).map(({ name }) => name);
}

function miniSearch(agents: readonly BenchAgent[]): Ask {
  const index = new MiniSearch<BenchAgent>({
    idField: 'name',
    fields: ['name', 'description', 'labels', 'instruction'],
  });
  index.addAll(agents);
  const options = { boost: { name: 2, labels: 1.8, description: 1.7 } };
  return async (query) =>
    index
      .search(query, options)
      .slice(0, 10)
      .map(({ id }) => String(id));
}
