import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { z } from 'zod';
import { METRICS, type MetricRow } from '../../transport/internal/metric-table.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

/** The table of metrics as docs/reference/metrics.md shows it. */
function metricsTable(): string {
  const rows = Object.values(METRICS).map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return ['| Metric | Type | Labels | What |', '|---|---|---|---|', ...rows].join('\n');
}

const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.looseObject({ alert: z.string(), expr: z.string() })) })),
});
const Dashboard = z.object({
  panels: z.array(z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })) })),
});

const read = (path: string): string => readFileSync(path, 'utf8');

const alerts = Rules.parse(parse(read('deploy/observability/alerts.yaml'))).groups.flatMap(({ rules }) => rules);
const { panels } = Dashboard.parse(JSON.parse(read('deploy/observability/grafana-dashboard.json')));
const EXPRESSIONS = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** Labels that Prometheus or a histogram adds. */
const ADDED = ['le', 'instance', 'job'];

interface Parsed {
  readonly errors: number;
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

function parsed(expr: string): Parsed {
  const [metrics, labels]: [string[], string[]] = [[], []];
  let errors = 0;
  parser.parse(expr).iterate({
    enter({ type, from, to, node }) {
      if (type.isError) errors += 1;
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(expr.slice(from, to));
      if (type.name === 'LabelName') labels.push(expr.slice(from, to));
    },
  });
  return { errors, metrics, labels };
}

const ROWS = new Map<string, MetricRow>(Object.values(METRICS).map((row) => [row.name, row]));

/** The metric of a series: a histogram has three series. */
const familyOf = (series: string): string => (ROWS.has(series) ? series : series.replace(/_(?:bucket|sum|count)$/, ''));

describe('the metrics of a node', () => {
  let node: ProductNode | undefined;
  let page = '';
  before(async () => {
    const opened = await ProductNode.start();
    node = opened;
    const scrape = async (): Promise<string> => (await fetch(`${(await opened.process.internal).url}/metrics`)).text();
    await opened.run(await opened.deploy(agentYaml('writer')), 'x');
    await waitUntil('a run has ended, and the list of runs was written', async () => {
      page = await scrape();
      const isListed = page.includes('svc_store_call_seconds_count{store="documents",call="putMany"}');
      return isListed && page.includes('svc_run_seconds_count{kind="execution",status="completed"} 1');
    });
  });
  after(() => node?.[Symbol.asyncDispose]());

  test('are those of the table, with their types and labels, and no others of this prefix', () => {
    const found = [...page.matchAll(/^# TYPE (svc_\S+) (\S+)$/gm)].map(([, name = '', type = '']) => `${name} ${type}`);
    assert.deepEqual(found.sort(), [...ROWS.values()].map(({ name, type }) => `${name} ${type}`).sort());
    for (const [, series = '', labels = ''] of page.matchAll(/^(svc_\w+)\{([^}]*)\}/gm)) {
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, name = '']) => name);
      const known = [...(ROWS.get(familyOf(series))?.labels ?? []), 'le'];
      assert.deepEqual(
        names.filter((name) => !known.includes(name)),
        [],
        series,
      );
    }
  });

  test('count what the run did: its call, its deliveries, its effect, its commits, its store calls', () => {
    for (const sample of [
      'svc_http_request_seconds_count{method="POST",route="/v1/executions",status="2xx"} 1',
      'svc_turn_seconds_count{kind="execution",outcome="done"}',
      'svc_mailbox_wait_seconds_count{kind="execution"}',
      'svc_effect_seconds_count{kind="model.generate",outcome="done"} 1',
      'svc_store_call_seconds_count{store="actors",call="commit"}',
      'svc_store_call_seconds_count{store="documents",call="putMany"}',
    ])
      assert.ok(page.includes(sample), sample);
    assert.match(page, /^svc_commits_total [1-9]/m);
    assert.match(page, /^svc_leases_taken_total [1-9]/m);
  });

  test('follow the conventions: base units, `_total` for counters, a unit at the end of histograms', () => {
    for (const { name, type } of ROWS.values()) {
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      if (type === 'histogram') assert.match(name, /_seconds$/);
      assert.doesNotMatch(name, /_(?:ms|millis|kb|mb|minutes)(?:_|$)/);
    }
  });

  test('are all that the dashboard and the alerts use, with their labels', () => {
    assert.ok(EXPRESSIONS.length > 30);
    for (const [where, expr] of EXPRESSIONS) {
      const { metrics, labels } = parsed(expr);
      assert.ok(metrics.length > 0, `${where}: ${expr}`);
      const known = metrics.flatMap((series) => ROWS.get(familyOf(series))?.labels ?? []);
      for (const series of metrics) assert.match(page, new RegExp(`^# TYPE ${familyOf(series)} `, 'm'), where);
      assert.deepEqual(
        labels.filter((label) => ![...known, ...ADDED].includes(label)),
        [],
        `${where}: ${expr}`,
      );
    }
  });
});

test('every expression of the dashboard and the alerts is PromQL', () => {
  assert.ok(parsed('sum by (x (svc_node_ready)').errors > 0);
  for (const [where, expr] of EXPRESSIONS) assert.equal(parsed(expr).errors, 0, `${where}: ${expr}`);
});

test('docs/reference/metrics.md shows the table', () => {
  assert.ok(read('docs/reference/metrics.md').includes(metricsTable()), metricsTable());
});
