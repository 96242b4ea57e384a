import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { LocalNode } from '../../usecases/ports/cluster.ts';
import type { AdmissionCounts } from '../../usecases/starts/admission.ts';
import type { RestApp } from '../rest/parts.ts';

/** What this node knows about itself without a store, so that a scrape answers while the stores are unavailable. */
export interface NodeFigures {
  local(): LocalNode;
  admission(): AdmissionCounts;
}

/** One metric: its name after `svc_`, its help text, and how its value is read. */
type Figure = readonly [name: string, help: string, read: (node: LocalNode, starts: AdmissionCounts) => number];

const GAUGES: readonly Figure[] = [
  ['node_ready', '1 while /health/ready says so', ({ ready }) => Number(ready)],
  ['node_draining', '1 from a drain until the end', ({ draining }) => Number(draining)],
  ['node_lease_age_seconds', 'since the node lease was last extended', ({ lease_age_ms: ms }) => ms / 1_000],
  [
    'partitions_unread',
    'held partitions in which messages wait and are not read: an alarm, they are taken anew',
    (node) => node.unread_partitions,
  ],
  [
    'messages_postponed',
    'taken from a mailbox, and waiting for the state of their actor',
    (node) => node.postponed_messages,
  ],
  ['actors_resident', 'actors in memory', ({ residents }) => residents],
  ['effects_running', 'model calls, tool calls, commands and other effects under way', (node) => node.running_effects],
  ['starts_in_flight', 'calls under way that start a run', (_node, { inFlight }) => inFlight],
  ['starts_limit', 'so many of them may be under way now', (_node, { limit }) => limit],
];

/** Shortest delay of the event loop that is measured, ms. A finer measurement would wake an idle process more often. */
const LOOP_PRECISION_MS = 50;

/** Metrics that count from the start of the process. */
const COUNTERS: readonly Figure[] = [
  [
    'commits_fenced_total',
    'commits refused because the lease was another node’s',
    ({ fenced_commits: count }) => count,
  ],
  ['starts_refused_total', 'calls refused as overloaded', (_node, { refused }) => refused],
];

/** Adds GET /metrics: the metrics of this node and its process in the text format of Prometheus (H5). */
export function addMetrics(app: RestApp, figures: NodeFigures): void {
  const registry = registryOf(figures);
  app.get('/metrics', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) => {
    reply.header('content-type', registry.contentType);
    return reply.serializer(String).send(await registry.metrics());
  });
}

function registryOf(figures: NodeFigures): Registry {
  const registry = new Registry();
  const registers = [registry];
  // Delay of the event loop, CPU, memory, descriptors.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  for (const [name, help, read] of GAUGES) {
    const gauge: Gauge = new Gauge({
      ...{ name: `svc_${name}`, help, registers },
      collect: () => {
        gauge.set(read(figures.local(), figures.admission()));
      },
    });
  }
  for (const [name, help, read] of COUNTERS) {
    const counter: Counter = new Counter({
      ...{ name: `svc_${name}`, help, registers },
      collect: () => {
        counter.reset();
        counter.inc(read(figures.local(), figures.admission()));
      },
    });
  }
  const held: Gauge<'pool'> = new Gauge({
    ...{ name: 'svc_partitions_held', help: 'partitions served here', labelNames: ['pool'], registers },
    collect: () => {
      held.reset();
      for (const [pool, count] of Object.entries(figures.local().partitions)) held.set({ pool }, count);
    },
  });
  const node: Gauge<'node' | 'role'> = new Gauge({
    ...{ name: 'svc_node_info', help: 'which node this is', labelNames: ['node', 'role'], registers },
    collect: () => {
      const { node_id, role } = figures.local();
      node.set({ node: node_id, role }, 1);
    },
  });
  return registry;
}
