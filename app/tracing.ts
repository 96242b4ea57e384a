import { SpanExport } from '../effects/otlp/span-export.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { requirePackages } from '../runtime/kit/optional-packages.ts';
import { VERSION } from '../runtime/store-formats.ts';
import { noTracing, type Tracing } from '../runtime/tracing/spans.ts';
import type { NodeMetrics } from '../transport/internal/node-metrics.ts';
import type { NodeContext } from './node-context.ts';

interface OpenTracing {
  readonly tracing: Tracing;
  close(): Promise<void>;
}

type Settings = NodeSettings['observability']['tracing'];

/** Exports spans to `spec.observability.tracing.otlp_endpoint`; without one nothing is loaded and nothing exported. */
export async function openTracing(context: NodeContext, metrics: NodeMetrics | null): Promise<OpenTracing> {
  const { settings, node, clock, logger } = context;
  const { tracing } = settings.observability;
  const endpoint = tracing.enabled === false ? undefined : tracing.otlp_endpoint;
  if (endpoint === undefined) return { tracing: noTracing, close: async () => {} };
  requirePackages('tracing', 'spec.observability.tracing.otlp_endpoint');
  const headers = await openHeaders(context, tracing);
  const spans = new SpanExport({
    open: async () => {
      const { openExporter } = await import('../effects/otlp/readable-spans.ts');
      return openExporter({ endpoint, headers, serviceName: tracing.service_name, node, version: VERSION });
    },
    mostWaiting: tracing.max_queued_spans,
    clock,
    log: logger,
  });
  metrics?.spans(() => spans.counts);
  return {
    tracing: { sink: spans, samples: (trace) => isSampled(trace, tracing.sample_ratio) },
    close: () => spans.close(),
  };
}

/** Resolves the headers for each export. A secret that cannot be read any more keeps its last value. */
async function openHeaders({ resolveSecret, warn }: NodeContext, { headers }: Settings) {
  const resolve = async (): Promise<Record<string, string>> => {
    const resolved: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) resolved[name] = await resolveSecret(value);
    return resolved;
  };
  let last = await resolve();
  return async (): Promise<Record<string, string>> => {
    try {
      last = await resolve();
    } catch (thrown) {
      warn('spec.observability.tracing.headers: a secret could not be read; the exporter uses its last value', thrown);
    }
    return last;
  };
}

/** The last 14 hex digits of a trace id are random (W3C Trace Context). Thirteen of them fit into a number and decide. */
const RANDOM = { from: 18, to: 31 };

/** Decides by the trace id, so that all systems with the same ratio decide alike. */
export const isSampled = (trace: string, ratio: number): boolean =>
  ratio >= 1 || Number.parseInt(trace.slice(RANDOM.from, RANDOM.to), 16) / 16 ** (RANDOM.to - RANDOM.from) >= 1 - ratio;
