import { z } from 'zod';
import { type Address, tenantOf } from '../address.ts';
import type { EffectRequest } from '../define-actor.ts';
import type { EffectJob } from '../effect-queue.ts';
import { SvcError } from '../errors.ts';
import { jsonField, jsonObjectField } from '../json.ts';
import { contextOf, type HandledMessage } from '../message.ts';
import type { EffectEnd } from '../meter.ts';
import type { EndedSpan, SpanSink } from '../tracing/spans.ts';
import { spanOfAttempt, spanOfMessage, TraceContext } from '../tracing/trace-context.ts';

/** Content of `EffectOpen.body`: the request, and the fields that its results need to be sent as messages. */
export interface EffectEnvelope {
  readonly request: EffectRequest;
  /** The actor that requested the effect. Results go there. */
  readonly to: Address;
  /** Id of the message whose turn requested the effect. */
  readonly cause: string;
  /** W3C trace id of that turn. */
  readonly trace: string;
  readonly traceContext?: TraceContext | undefined;
  /** The trace of `cause`, when the effect is in a linked one. */
  readonly causeTrace?: string | undefined;
  readonly tenant: string;
  /** Time of that turn, Unix ms. Absent in records written before this field existed. */
  readonly askedAtMs?: number | undefined;
}

const Retry = z.object({
  maxAttempts: z.number().int().min(1),
  initialDelayMs: z.number().min(0),
  maxDelayMs: z.number().min(0),
});

const Envelope = z.object({
  request: z.object({
    kind: z.string(),
    mode: z.enum(['repeatable', 'once']),
    input: jsonObjectField,
    replyAs: z.string(),
    progressAs: z.string().optional(),
    context: jsonField.optional(),
    retry: Retry.optional(),
    timeoutMs: z.number().positive().optional(),
  }),
  to: z.templateLiteral([z.string(), '/', z.string(), '/', z.string()]),
  cause: z.string(),
  trace: z.string(),
  traceContext: TraceContext.optional(),
  causeTrace: z.string().optional(),
  tenant: z.string(),
  askedAtMs: z.number().optional(),
});

export function encodeEffect(envelope: EffectEnvelope): string {
  return JSON.stringify(envelope);
}

/** Encodes an effect that the turn of `cause` requested. `request` is its request as JSON. */
export function encodeRequest(
  request: string,
  asked: {
    readonly cause: Pick<HandledMessage, 'id' | 'to' | 'trace' | 'traceContext' | 'leftTrace'>;
    readonly askedAtMs: number;
  },
): string {
  const { cause, askedAtMs } = asked;
  const { to, id, trace, leftTrace: causeTrace } = cause;
  const envelope = { to, cause: id, trace, ...contextOf(cause), causeTrace, tenant: tenantOf(to), askedAtMs };
  return `{"request":${request},${JSON.stringify(envelope satisfies Omit<EffectEnvelope, 'request'>).slice(1)}`;
}

/** Decodes the text that `encodeRequest` wrote. Throws `internal` for any other text. */
export function decodeEffect(body: string): EffectEnvelope {
  try {
    const parsed: unknown = JSON.parse(body);
    return isEnvelope(parsed) ? parsed : Envelope.parse(parsed);
  } catch (cause) {
    throw new SvcError('internal', undefined, { cause });
  }
}

/** A cheap shape check for the hot path: this program wrote the text. The full schema only explains a failure. */
function isEnvelope(value: unknown): value is EffectEnvelope {
  return (
    typeof value === 'object' &&
    value !== null &&
    'request' in value &&
    isRequest(value.request) &&
    'to' in value &&
    typeof value.to === 'string' &&
    'cause' in value &&
    typeof value.cause === 'string' &&
    'trace' in value &&
    typeof value.trace === 'string' &&
    'tenant' in value &&
    typeof value.tenant === 'string'
  );
}

function isRequest(value: unknown): value is EffectRequest {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    typeof value.kind === 'string' &&
    'mode' in value &&
    (value.mode === 'once' || value.mode === 'repeatable') &&
    'input' in value &&
    typeof value.input === 'object' &&
    value.input !== null &&
    'replyAs' in value &&
    typeof value.replyAs === 'string'
  );
}

/**
 * How long ago the effect was requested when an attempt begins at `now`. Clocks of nodes may differ, so it is at least
 * 0.
 */
export const askedAgo = ({ askedAtMs }: EffectEnvelope, now: number): { readonly askedAgoMs?: number } =>
  askedAtMs === undefined ? {} : { askedAgoMs: Math.max(0, now - askedAtMs) };

/** A span of another trace is no parent. */
const follows = (span: string, trace: string | undefined): Pick<EndedSpan, 'parent' | 'link'> =>
  trace === undefined ? { parent: span } : { parent: undefined, link: { trace, span } };

/** Exports the span of an attempt that has ended, unless its trace is not sampled. */
export function exportSpan(
  sink: SpanSink | null,
  { request, cause, trace, traceContext, causeTrace, tenant, to }: EffectEnvelope,
  ended: {
    readonly id: string;
    readonly attempt: number;
    readonly outcome: EffectEnd;
    readonly error: string | undefined;
    readonly startedAt: number;
    readonly endedAt: number;
  },
): void {
  if (sink === null || traceContext?.sampled === false) return;
  const { id, attempt, outcome, error, startedAt, endedAt } = ended;
  sink.ended({
    trace,
    id: spanOfAttempt(id, attempt),
    ...follows(spanOfMessage(cause), causeTrace),
    state: traceContext?.state,
    tenant,
    name: `effect ${request.kind}`,
    kind: 'internal',
    startedAt,
    endedAt,
    attributes: {
      'svc.effect.kind': request.kind,
      'svc.effect.id': id,
      'svc.effect.attempt': attempt,
      'svc.effect.outcome': outcome,
      'svc.actor': to,
    },
    error: outcome === 'done' ? undefined : error,
  });
}

/**
 * The tenant and source that an effect counts for. Tenants get slots in turn, and within a tenant its agents,
 * workflows and other sources of effects do.
 */
export interface Flow {
  readonly tenant: string;
  readonly key: string;
}

/** The flow of a job. Without a fairness key all actors of one kind share a turn. */
export const flowOf = ({ address, fairnessKey }: Pick<EffectJob, 'address' | 'fairnessKey'>): Flow => ({
  tenant: tenantOf(address),
  key: fairnessKey ?? address.slice(0, address.indexOf('/')),
});

const MOST_KEY_CHARS = 200;

/** The fairness key for jobs and effect rows, shortened to one line. An empty object without a key. */
export function fairnessPart(key: string | null | undefined): { readonly fairnessKey?: string } {
  return key == null ? {} : { fairnessKey: key.slice(0, MOST_KEY_CHARS).replaceAll('\n', ' ') };
}
