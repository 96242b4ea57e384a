import type { LocalNode } from '../../usecases/ports/cluster.ts';
import type { AdmissionCounts } from '../../usecases/starts/admission.ts';
import type { RestApp } from '../rest/parts.ts';
import type { LookedUp, NodeMetrics } from './node-metrics.ts';

/** Figures of this node that need no store, so that a scrape is answered while the stores are unavailable. */
export interface NodeFigures {
  readonly metrics: NodeMetrics;
  local(): LocalNode;
  admission(): AdmissionCounts;
  /** The last values of the figures that need a store. */
  lookedUp(): LookedUp;
}

/** Adds GET /metrics: the metrics of this node and its process in the text format of Prometheus (H5). */
export function addMetrics(app: RestApp, figures: NodeFigures): void {
  addFigures(figures);
  const { registry } = figures.metrics;
  app.get('/metrics', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) => {
    reply.header('content-type', registry.contentType);
    return reply.serializer(String).send(await registry.metrics());
  });
}

/** Adds values that are not counted but read at each scrape. */
function addFigures({ metrics, local, admission, lookedUp }: NodeFigures): void {
  metrics.labelled('nodeInfo', () => [{ labels: { node: local().node_id, role: local().role }, value: 1 }]);
  metrics.gauge('nodeReady', () => Number(local().ready));
  metrics.gauge('nodeDraining', () => Number(local().draining));
  metrics.gauge('nodeLeaseAge', () => local().lease_age_ms / 1_000);
  metrics.labelled('partitionsHeld', () =>
    Object.entries(local().partitions).map(([pool, value]) => ({ labels: { pool }, value })),
  );
  metrics.gauge('partitionsUnread', () => local().unread_partitions);
  metrics.gauge('messagesPostponed', () => local().postponed_messages);
  metrics.gauge('actorsResident', () => local().residents);
  metrics.gauge('effectsRunning', () => local().running_effects);
  metrics.kept('commitsFenced', () => local().fenced_commits);
  metrics.gauge('startsInFlight', () => admission().inFlight);
  metrics.gauge('startsLimit', () => admission().limit);
  metrics.kept('startsRefused', () => admission().refused);
  metrics.gauge('mailboxMessages', () => lookedUp().mailbox.messages);
  metrics.gauge('mailboxOldest', () => lookedUp().mailbox.oldestSeconds);
  metrics.labelled('runsUnfinished', () =>
    (lookedUp().unfinished ?? []).map(({ kind, wait_reason, count }) => ({
      labels: { kind, wait_reason },
      value: count,
    })),
  );
}
