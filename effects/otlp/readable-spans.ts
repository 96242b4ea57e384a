import {
  createTraceState,
  type Link,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { parseAddress } from '../../runtime/address.ts';
import type { EndedSpan, SpanAttributes } from '../../runtime/tracing/spans.ts';
import { spanOfAttempt, spanOfMessage } from '../../runtime/tracing/trace-context.ts';
import type { SpanExporter } from './span-export.ts';
import type { WaitingDelivery, WaitingSpan } from './waiting-spans.ts';

interface ExporterSettings {
  /** Base URL; `/v1/traces` is appended unless it ends so. */
  readonly endpoint: string;
  /** Resolved for each request, so that a rotated key takes effect. */
  readonly headers: () => Promise<Record<string, string>>;
  readonly serviceName: string;
  /** Id of the node. */
  readonly node: string;
  readonly version: string;
}

const TIMEOUT_MS = 5_000;
const PATH = '/v1/traces';

/**
 * The official exporter of OTLP over HTTP with protobuf. Load this file with a dynamic `import`, so that a node without
 * an endpoint does not hold the SDK.
 */
export function openExporter(settings: ExporterSettings): SpanExporter {
  const { endpoint, headers, serviceName, node, version } = settings;
  const base = endpoint.replace(/\/+$/, '');
  const exporter = new OTLPTraceExporter({
    url: base.endsWith(PATH) ? base : base + PATH,
    headers,
    timeoutMillis: TIMEOUT_MS,
  });
  const resource = resourceFromAttributes({
    'service.name': serviceName,
    'service.instance.id': node,
    'service.version': version,
  });
  const shape = new SpanShape(resource, version);
  return {
    export: (spans) =>
      new Promise((resolve) => {
        exporter.export(
          spans.map((span) => shape.of(span)),
          ({ error }) => resolve(error ?? null),
        );
      }),
    shutdown: () => exporter.shutdown(),
  };
}

const NO_EVENTS: ReadableSpan['events'] = [];
const NO_LINKS: Link[] = [];
const UNSET = { code: SpanStatusCode.UNSET };
const FAILED = { code: SpanStatusCode.ERROR };
const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

const hrTime = (ms: number): [number, number] => {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
};

/** Converts ended work to spans of the SDK. */
class SpanShape {
  readonly #resource: Resource;
  readonly #scope: ReadableSpan['instrumentationScope'];

  constructor(resource: Resource, version: string) {
    this.#resource = resource;
    this.#scope = { name: 'svc-runtime', version };
  }

  of(span: WaitingSpan): ReadableSpan {
    return 'message' in span ? this.#delivery(span) : this.#work(span);
  }

  #work(ended: EndedSpan): ReadableSpan {
    const { trace, id, parent, link, state, tenant, name, kind, startedAt, endedAt, attributes, error } = ended;
    return this.#span({
      own: contextOf(trace, id, state),
      parent: parent === undefined ? undefined : contextOf(trace, parent, state),
      link: link === undefined ? undefined : contextOf(link.trace, link.span, state),
      name,
      kind: KINDS[kind],
      startedAt,
      endedAt,
      attributes: { ...attributes, 'svc.tenant': tenant, ...(error === undefined ? {} : { 'error.type': error }) },
      failed: error !== undefined || attributes['error.type'] !== undefined,
    });
  }

  #delivery(one: WaitingDelivery): ReadableSpan {
    const { message, trace, state, outcome } = one;
    const { kind, tenant } = parseAddress(one.to);
    const failed = outcome === 'retried' || outcome === 'dead-lettered';
    const said = outcome === 'dead-lettered' ? 'dead_lettered' : outcome;
    const id = outcome === 'retried' ? spanOfMessage(message, one.attempt) : spanOfMessage(message);
    const { parent, link } = before(one);
    return this.#span({
      own: contextOf(trace, id, state),
      parent:
        parent === undefined ? undefined : { ...contextOf(trace, parent, state), isRemote: one.origin === 'client' },
      link: link === undefined ? undefined : contextOf(one.causeTrace ?? trace, link, state),
      name: `${kind} ${one.type}`,
      kind: SpanKind.CONSUMER,
      startedAt: one.startedAt,
      endedAt: one.endedAt,
      attributes: {
        'messaging.system': 'svc',
        'messaging.operation.type': 'process',
        'messaging.destination.name': kind,
        'messaging.message.id': message,
        'svc.tenant': tenant,
        'svc.actor': one.to,
        'svc.message.type': one.type,
        'svc.message.origin': one.origin,
        'svc.message.attempt': one.attempt,
        'svc.outcome': said,
        'svc.wait_ms': one.waitMs,
        'svc.epoch': one.epoch,
        ...(failed ? { 'error.type': said } : {}),
      },
      failed,
    });
  }

  #span(of: {
    readonly own: SpanContext;
    readonly parent: SpanContext | undefined;
    readonly link: SpanContext | undefined;
    readonly name: string;
    readonly kind: SpanKind;
    readonly startedAt: number;
    readonly endedAt: number;
    readonly attributes: SpanAttributes;
    readonly failed: boolean;
  }): ReadableSpan {
    const { own, parent, link, name, kind, startedAt, failed } = of;
    const endedAt = Math.max(startedAt, of.endedAt);
    return {
      name,
      kind,
      spanContext: () => own,
      parentSpanContext: parent,
      startTime: hrTime(startedAt),
      endTime: hrTime(endedAt),
      duration: hrTime(endedAt - startedAt),
      status: failed ? FAILED : UNSET,
      attributes: of.attributes,
      links: link === undefined ? NO_LINKS : [{ context: link }],
      events: NO_EVENTS,
      ended: true,
      resource: this.#resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

const contextOf = (traceId: string, spanId: string, state: string | undefined): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  ...(state === undefined ? {} : { traceState: createTraceState(state) }),
});

/**
 * The span before a delivery is its parent: that of the caller, of the effect whose result it is, or of the turn that sent
 * it. A delivery that may come long after its cause gets a link to that span instead: a timer, a call that follows from an
 * earlier turn. So does a delivery in another trace than its cause.
 */
function before(one: WaitingDelivery): { readonly parent?: string; readonly link?: string } {
  const { cause, origin } = one;
  if (one.parentSpan !== undefined) return { parent: one.parentSpan };
  if (one.effect !== undefined) return { parent: spanOfAttempt(one.effect.id, one.effect.attempt) };
  if (cause === null) return {};
  const span = spanOfMessage(cause);
  return one.causeTrace === undefined && (origin === 'actor' || one.isRetry) ? { parent: span } : { link: span };
}
