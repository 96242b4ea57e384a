import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpMeter } from '../http-meter.ts';
import { METRICS, type MetricName, type MetricRow } from './metric-table.ts';

/** Shortest delay of the event loop that is measured, ms. A finer measurement would wake an idle process more often. */
const LOOP_PRECISION_MS = 50;
/** Most values of a label that programs choose: kinds of actors and effects. */
const MOST_KINDS = 64;
const OTHER = 'other';

/** Spans by outcome. */
interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
  readonly failed: number;
}

const NO_SPANS: SpanCounts = { exported: 0, dropped: 0, failed: 0 };

/** Figures that are looked up at intervals, since they need a store. */
export interface LookedUp {
  readonly mailbox: { readonly messages: number; readonly oldestSeconds: number };
  /** Null: another node counts them. */
  readonly unfinished:
    | readonly { readonly kind: string; readonly wait_reason: string; readonly count: number }[]
    | null;
}

/**
 * All metrics of this node and its process (`METRICS`), counted from the start of the process. Parts of the node count
 * through its small interfaces and know nothing of Prometheus.
 */
export class NodeMetrics implements HttpMeter {
  readonly registry = new Registry();
  readonly #turns = this.#histogram('turn');
  readonly #waits = this.#histogram('mailboxWait');
  readonly #runs = this.#histogram('run');
  readonly #effects = this.#histogram('effect');
  readonly #storeCalls = this.#histogram('storeCall');
  readonly #requests = this.#histogram('request');
  readonly #storeErrors = this.#counter('storeErrors');
  readonly #refusals = this.#counter('refusals');
  readonly #commits = this.#counter('commits');
  readonly #taken = this.#counter('leasesTaken');
  readonly #ended = this.#counter('leasesEnded');
  readonly #kinds = new Set<string>();
  /** The series of a kind and outcome, since this is counted at every message. */
  readonly #deliveries = new Map<string, { readonly turn: Series; readonly wait: Series }>();
  #streams: () => number = () => 0;
  #spans: () => SpanCounts = () => NO_SPANS;

  constructor() {
    // Delay of the event loop, CPU, memory, descriptors.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
    this.gauge('streamsOpen', () => this.#streams());
    this.#countSpans();
  }

  delivered(kind: string, outcome: string, waitMs: number, turnMs: number): void {
    const key = `${kind}\n${outcome}`;
    let known = this.#deliveries.get(key);
    if (known === undefined) {
      const bounded = this.#bounded(kind);
      known = { turn: this.#turns.series([bounded, outcome]), wait: this.#waits.series([bounded]) };
      // Unlimited kinds would fill the memory.
      if (bounded === kind) this.#deliveries.set(key, known);
    }
    known.turn.observe(turnMs / 1_000);
    known.wait.observe(Math.max(0, waitMs) / 1_000);
  }

  committed(): void {
    this.#commits.inc();
  }

  lease(change: 'taken' | 'ended'): void {
    (change === 'taken' ? this.#taken : this.#ended).inc();
  }

  effectEnded(kind: string, outcome: string, ms: number): void {
    this.#effects.note([this.#bounded(kind), outcome], ms / 1_000);
  }

  actorStarted(): void {}

  turnFailed(): void {}

  runEnded(kind: string, status: string, ms: number): void {
    this.#runs.note([this.#bounded(kind), status], Math.max(0, ms) / 1_000);
  }

  /** Counts the calls of a store. */
  storeCalls(store: 'actors' | 'documents'): (call: string, ms: number, failed: boolean) => void {
    return (call, ms, failed) => {
      this.#storeCalls.note([store, call], ms / 1_000);
      if (failed) this.#storeErrors.inc({ store, call });
    };
  }

  answered(method: string, route: string, status: number, ms: number): void {
    this.#requests.note([method, route, `${Math.floor(status / 100)}xx`], ms / 1_000);
  }

  refused(code: string): void {
    this.#refusals.inc({ code });
  }

  watchStreams(count: () => number): void {
    this.#streams = count;
  }

  /** Counts spans by outcome, once they are exported. */
  spans(read: () => SpanCounts): void {
    this.#spans = read;
  }

  /** Adds a gauge without labels that is read at each scrape. */
  gauge(name: MetricName, read: () => number): void {
    const gauge: Gauge = new Gauge({ ...this.#options(METRICS[name]), collect: () => gauge.set(read()) });
  }

  /** Adds a gauge whose values by labels are read at each scrape. */
  labelled(
    name: MetricName,
    read: () => readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[],
  ): void {
    const gauge: Gauge = new Gauge({
      ...this.#options(METRICS[name]),
      collect: () => {
        gauge.reset();
        for (const { labels, value } of read()) gauge.set({ ...labels }, value);
      },
    });
  }

  /** Adds a counter that another part of the node maintains. */
  kept(name: MetricName, read: () => number): void {
    const counter: Counter = new Counter({
      ...this.#options(METRICS[name]),
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }

  #countSpans(): void {
    const counter: Counter = new Counter({
      ...this.#options(METRICS.spans),
      collect: () => {
        counter.reset();
        for (const [outcome, count] of Object.entries(this.#spans())) counter.inc({ outcome }, count);
      },
    });
  }

  #counter(name: MetricName): Counter {
    return new Counter(this.#options(METRICS[name]));
  }

  #histogram(name: MetricName): PlainHistogram {
    const row: MetricRow = METRICS[name];
    return new PlainHistogram(row, this.registry);
  }

  #options({ name, help, labels }: MetricRow) {
    return { name, help, labelNames: [...labels], registers: [this.registry] };
  }

  #bounded(kind: string): string {
    if (this.#kinds.has(kind)) return kind;
    if (this.#kinds.size >= MOST_KINDS) return OTHER;
    this.#kinds.add(kind);
    return kind;
  }
}

/** The counts of one series of a histogram. */
class Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Observations up to each bound and above the bound before; the last one is above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  readonly #bounds: readonly number[];

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.counts = new Float64Array(bounds.length + 1);
    this.#bounds = bounds;
  }

  observe(seconds: number): void {
    let at = 0;
    while (at < this.#bounds.length && seconds > (this.#bounds[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += seconds;
  }
}

/**
 * A histogram whose observation costs a look-up and an addition: the library's own builds an object a call, which is
 * too much where every message passes.
 */
class PlainHistogram extends Histogram {
  readonly #row: MetricRow;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(row: MetricRow, registry: Registry) {
    const { name, help, labels, buckets = [] } = row;
    super({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [registry] });
    this.#row = row;
    this.#bounds = buckets;
  }

  note(values: readonly string[], seconds: number): void {
    this.series(values).observe(seconds);
  }

  /** `values`: those of the labels, in the order of the table. */
  series(values: readonly string[]): Series {
    const key = values.join('\n');
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const labels = Object.fromEntries(this.#row.labels.map((label, index) => [label, values[index] ?? '']));
    const made = new Series(labels, this.#bounds);
    this.#series.set(key, made);
    return made;
  }

  /** What the library prints; it prefers this method to `get`. */
  async getForPromString() {
    const { name, help, type } = this.#row;
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return { name, help, type, aggregator: 'sum', values };
  }

  #valuesOf({ labels, counts, sum }: Series) {
    const { name } = this.#row;
    let total = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
      total += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ];
  }
}
