import assert from 'node:assert/strict';
import { has, listOf, type Row } from './row.ts';
import type { Args, Result, Setting } from './setting.ts';

interface Described {
  readonly description: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A tool that searches, how what it finds is made, and something of the product that it finds. */
interface Searching {
  readonly tool: 'svc.agent.search' | 'svc.workflow.search';
  readonly make: (at: Setting, described: Described) => Promise<string>;
  readonly ofProduct: { readonly name: string; readonly query: string };
}

const SEARCHING: readonly Searching[] = [
  {
    tool: 'svc.agent.search',
    async make(at, described) {
      const name = at.name();
      await at.ok('svc.agent.create', { manifest_yaml: at.agentYaml(name, '1.0.0', described) });
      return name;
    },
    ofProduct: { name: 'code-quality-judge', query: 'code quality judge' },
  },
  {
    tool: 'svc.workflow.search',
    make: async (at, described) => (await at.workflow(described)).name,
    ofProduct: { name: 'svc-intent-pipeline', query: 'svc intent pipeline' },
  },
];

const namesIn = ({ results }: Result): unknown[] => listOf(results).map(({ name }) => name);
const POEMS = 'Translates poems into Icelandic';

const rowsOf = ({ tool, make, ofProduct }: Searching): readonly Row[] => {
  const asking = (what: string, more: Args, gives: (result: Result, args: Args, at: Setting) => unknown): Row => ({
    ...{ tool, what },
    args: async (at) => {
      for (const description of [POEMS, `${POEMS} slowly`]) await make(at, { description });
      return { query: 'translate a poem to Icelandic', ...more };
    },
    gives,
  });
  return [
    asking('finds by what it does, best first', {}, (result, { query }) => {
      const hits = listOf(result.results);
      assert.deepEqual([result.tool, result.query, result.total], [tool, query, hits.length]);
      assert.match(String(hits[0]?.description), /^Translates poems into Icelandic/);
      assert.deepEqual(Object.keys(hits[0] ?? {}), ['id', 'name', 'version', 'description', 'labels', 'score']);
      const scores = hits.map(({ score }) => Number(score));
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
      assert.ok(
        scores.every((score) => score >= 0.3 && score <= 1),
        `${scores}`,
      );
      assert.ok(hits.length <= 10);
    }),
    asking('finds as many as are asked for', { limit: 1 }, has({ total: 1 })),
    asking('finds nothing below min_score', { min_score: 0.6 }, ({ results }) =>
      assert.ok(listOf(results).every(({ score }) => Number(score) >= 0.6)),
    ),
    asking('finds all of them with a min_score of 0', { min_score: 0, limit: 5_000 }, ({ total }) =>
      assert.ok(Number(total) > 2),
    ),
    ...(
      [
        ['finds those of which all labels match', { tongue: 'is', kind: 'poem' }, true],
        ['finds none of which one label does not match', { tongue: 'is', kind: 'prose' }, false],
      ] as const
    ).map(
      ([what, labels, isFound]): Row => ({
        ...{ tool, what },
        args: async (at) => {
          const more = { tongue: 'is', kind: 'poem', of: at.name() };
          const name = await make(at, { description: POEMS, labels: more });
          return { query: name, labels: { ...labels, of: more.of } };
        },
        gives: (result, { query }) => assert.deepEqual(namesIn(result), isFound ? [query] : []),
      }),
    ),
    {
      ...{ tool, what: 'finds what ships with the product' },
      args: { query: ofProduct.query },
      gives: (result) => assert.ok(namesIn(result).includes(ofProduct.name)),
    },
    {
      ...{ tool, what: 'excludes what ships with the product when that is asked for' },
      args: { query: ofProduct.query, include_platform_templates: false },
      gives: (result) => assert.ok(!namesIn(result).includes(ofProduct.name)),
    },
    {
      ...{ tool, what: 'shows a caller nothing of another tenant', by: 'stranger' },
      args: async (at) => ({ query: await make(at, { description: POEMS }), include_platform_templates: false }),
      gives: has({ results: [], total: 0 }),
    },
  ];
};

const byStatus = (status: string, isFound: boolean): Row => ({
  ...{ tool: 'svc.agent.search', what: `${isFound ? 'finds' : 'finds no'} deployed ones by status ${status}` },
  args: async (at) => ({ query: (await at.agent()).name, status }),
  gives: (result, { query }) => assert.equal(namesIn(result).includes(query), isFound),
});

/** svc.agent.search and svc.workflow.search (W38). */
export const SEARCH_ROWS: readonly Row[] = [
  ...SEARCHING.flatMap(rowsOf),
  {
    ...{ tool: 'svc.agent.search', what: 'refuses an unknown status', args: { query: 'a', status: 'gone' } },
    gives: ['invalid_argument', /status: expected deployed, paused/],
  },
  ...[byStatus('deployed', true), byStatus('paused', false)],
];
