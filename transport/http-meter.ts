/** Counters of a server, for metrics. Implemented by `NodeMetrics` (internal/node-metrics.ts). */
export interface HttpMeter {
  /** `route`: the template of the path, of which there are few. */
  answered(method: string, route: string, status: number, ms: number): void;
  /** A call ended with this code of the table of errors. */
  refused(code: string): void;
  watchStreams(count: () => number): void;
}
