/** One metric of a node, as Prometheus sees it. */
export interface MetricRow {
  readonly name: `svc_${string}`;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, seconds. */
  readonly buckets?: readonly number[];
}

/** From a tenth of a millisecond: turns, waits in mailboxes, calls of stores. */
const FAST = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** From a millisecond: calls of clients. */
const CALLS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From ten milliseconds to an hour: effects. */
const WORK = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600];
/** From a tenth of a second to a week: runs. */
const RUNS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800];

const gauge = (name: MetricRow['name'], help: string, labels: readonly string[] = []): MetricRow => ({
  name,
  type: 'gauge',
  help,
  labels,
});

const counter = (name: MetricRow['name'], help: string, labels: readonly string[] = []): MetricRow => ({
  name,
  type: 'counter',
  help,
  labels,
});

const histogram = (
  name: MetricRow['name'],
  buckets: readonly number[],
  help: string,
  labels: readonly string[] = [],
): MetricRow => ({ name, type: 'histogram', help, labels, buckets });

/**
 * THE table of the metrics of a node. docs/reference/metrics.md shows it; a test compares both with a running node. Each
 * label has few values: kinds of actors and effects (64 at most, then `other`), templates of routes, codes of the
 * table of errors, pools. No label names a tenant, a run or a caller.
 */
export const METRICS = {
  nodeInfo: gauge('svc_node_info', 'Names the node in its labels; always 1.', ['node', 'role']),
  nodeReady: gauge('svc_node_ready', '1 while /health/ready answers that the node is ready.'),
  nodeDraining: gauge('svc_node_draining', '1 from the start of a drain until the process ends.'),
  nodeLeaseAge: gauge('svc_node_lease_age_seconds', 'Time since the node lease was last extended.'),
  partitionsHeld: gauge('svc_partitions_held', 'Partitions served here.', ['pool']),
  partitionsUnread: gauge(
    'svc_partitions_unread',
    'Held partitions whose messages wait and are not read. Alarm: the node acquires them again.',
  ),
  leasesTaken: counter('svc_leases_taken_total', 'Logs that this node began to serve: first leases and takeovers.'),
  leasesEnded: counter('svc_leases_ended_total', 'Logs that this node stopped serving: handed over or lost.'),
  commits: counter('svc_commits_total', 'Commits of batches of turns.'),
  commitsFenced: counter('svc_commits_fenced_total', 'Commits refused because the lease was another node’s.'),
  turn: histogram(
    'svc_turn_seconds',
    FAST,
    'Time of turns, by kind of actor and outcome; its count is the deliveries.',
    ['kind', 'outcome'],
  ),
  mailboxWait: histogram('svc_mailbox_wait_seconds', FAST, 'Time that messages waited before their turn.', ['kind']),
  mailboxMessages: gauge('svc_mailbox_messages', 'Messages that wait in the logs served here; read every 10 s.'),
  mailboxOldest: gauge('svc_mailbox_oldest_seconds', 'Age of the oldest message that waits in the logs served here.'),
  messagesPostponed: gauge(
    'svc_messages_postponed',
    'Messages taken from a mailbox that wait for their actor’s state.',
  ),
  actorsResident: gauge('svc_actors_resident', 'Actors in memory.'),
  run: histogram('svc_run_seconds', RUNS, 'Time of runs that ended, by kind and last status.', ['kind', 'status']),
  runsUnfinished: gauge(
    'svc_runs_unfinished',
    'Unfinished runs by what they wait for. The node that holds partition system:0 counts those of the fleet every 10 s, up to 10,000.',
    ['kind', 'wait_reason'],
  ),
  effect: histogram('svc_effect_seconds', WORK, 'Time of attempts of effects, by kind and how they ended.', [
    'kind',
    'outcome',
  ]),
  effectsRunning: gauge('svc_effects_running', 'Model calls, tool calls, commands and other effects under way.'),
  spans: counter(
    'svc_spans_total',
    'Spans by outcome: `exported`, `dropped` because too many waited, `failed` because the receiver did not take them. All 0 without an endpoint.',
    ['outcome'],
  ),
  storeCall: histogram('svc_store_call_seconds', FAST, 'Time of calls of the stores.', ['store', 'call']),
  storeErrors: counter('svc_store_errors_total', 'Calls of the stores that failed.', ['store', 'call']),
  request: histogram('svc_http_request_seconds', CALLS, 'Time of calls over REST, except event streams.', [
    'method',
    'route',
    'status',
  ]),
  refusals: counter(
    'svc_http_refusals_total',
    'Calls over REST that ended with an error, by its code; refusals by a limit are included.',
    ['code'],
  ),
  streamsOpen: gauge('svc_streams_open', 'Open event streams over REST.'),
  startsInFlight: gauge('svc_starts_in_flight', 'Calls under way that start a run.'),
  startsLimit: gauge('svc_starts_limit', 'Calls that start a run that may be under way at the same time now.'),
  startsRefused: counter('svc_starts_refused_total', 'Calls refused as overloaded.'),
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;
