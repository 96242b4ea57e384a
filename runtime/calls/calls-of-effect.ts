import { AsyncLocalStorage } from 'node:async_hooks';
import { HandlerWaits } from '../effect.ts';
import { toSvcError } from '../errors.ts';
import type { EndedSpan, SpanAttributes, SpanSink } from '../tracing/spans.ts';
import {
  type CallingSpan,
  spanOfAttempt,
  spanOfCall,
  type TraceContext,
  type TraceHeaders,
  traceHeaders,
} from '../tracing/trace-context.ts';

/** Trace and cause of the calls that are made now. */
interface Causing {
  /** Id of the message whose turn requested the effect; null for a call from outside. */
  readonly cause: string | null;
  readonly trace: string;
  /** Parent span of the calls that are made now. Computed on first use, since most attempts make no call. */
  readonly span: string;
  readonly context: TraceContext | undefined;
  hasEnded: boolean;
  /** Absent for a call from outside: this node does not export its spans. */
  readonly effect?: { readonly tenant: string; readonly sink: SpanSink | null };
  /** Number of calls to other systems so far. */
  calls: number;
}

const causing = new AsyncLocalStorage<Causing>();

const current = (): Causing | undefined => {
  const running = causing.getStore();
  return running === undefined || running.hasEnded ? undefined : running;
};

/** An attempt of an effect, and the sink of its spans. */
interface Attempt {
  readonly cause: string;
  readonly trace: string;
  readonly traceContext?: TraceContext | undefined;
  readonly tenant: string;
  readonly effectId: string;
  readonly attempt: number;
  readonly sink: SpanSink | null;
}

/**
 * Runs the work of an effect. Calls of actors that it makes continue the trace of the turn that requested it, with the turn's
 * message as their cause, so that a child that an effect starts is part of its parent's trace. Calls that the work makes after
 * it has ended, for example on an open connection, are not.
 */
export function asEffectOf<T>(of: Attempt, work: () => Promise<T>): Promise<T> {
  return under(
    {
      cause: of.cause,
      trace: of.trace,
      get span() {
        return spanOfAttempt(of.effectId, of.attempt);
      },
      context: of.traceContext,
      hasEnded: false,
      effect: { tenant: of.tenant, sink: of.sink },
      calls: 0,
    },
    work,
  );
}

async function under<T>(running: Causing, work: () => Promise<T>): Promise<T> {
  try {
    return await causing.run(running, work);
  } finally {
    running.hasEnded = true;
  }
}

/** Runs the handling of a call from outside. Calls of actors that it makes for the caller's trace follow its span. */
export function asCallOf<T>(caller: CallingSpan | null, work: () => T): T {
  if (caller === null) return work();
  const { trace, span, context } = caller;
  return causing.run({ cause: null, trace, span, context, hasEnded: false, calls: 0 }, work);
}

/** Trace and cause in the message of a call. */
interface Followed {
  readonly cause: string | null;
  readonly trace: string;
  readonly parentSpan?: string;
  readonly traceContext?: TraceContext;
}

/**
 * The trace and cause of a call that is made now. Outside of effects, and for a call in another trace, it begins a
 * trace.
 */
export function followsFrom(
  asked: {
    readonly cause?: string | undefined;
    readonly trace?: string | undefined;
    readonly traceContext?: TraceContext | undefined;
  },
  { newTrace, samples }: { readonly newTrace: () => string; readonly samples: (trace: string) => boolean },
): Followed {
  const running = current();
  const ofEffect = running?.effect === undefined ? undefined : running.trace;
  const trace = asked.trace ?? ofEffect ?? newTrace();
  if (running?.trace !== trace) {
    const begun = asked.cause !== undefined || samples(trace) ? undefined : { sampled: false as const };
    return withContext({ cause: asked.cause ?? null, trace }, asked.traceContext ?? begun);
  }
  const parent = { cause: asked.cause ?? running.cause, trace, parentSpan: running.span };
  return withContext(parent, running.context);
}

const withContext = (followed: Followed, traceContext: TraceContext | undefined): Followed =>
  traceContext === undefined ? followed : { ...followed, traceContext };

/** Headers that pass the trace on to another system that is called now; null outside of effects. */
export function outgoingTrace(): TraceHeaders | null {
  const running = current();
  return running?.effect === undefined ? null : traceHeaders(running.trace, running.span, running.context);
}

/** A call of another system by an effect, with a span of its own. */
interface SpannedCall {
  readonly name: string;
  readonly kind: EndedSpan['kind'];
  readonly attributes: SpanAttributes;
  /** Names the error that it ended with. Default: the code of the error. */
  readonly errorType?: (thrown: unknown) => string;
  /** When the call began, Unix ms, if it was begun before (`EffectContext.waitedFor`). Default: now. */
  readonly startedAtMs?: number;
}

/**
 * Runs a call of another system by an effect: `outgoingTrace` then names the call's span, and the span is exported when
 * the call has ended. `add` adds what is known only later.
 */
export async function asSpan<T>(
  call: SpannedCall,
  work: (add: (attributes: SpanAttributes) => void) => Promise<T>,
): Promise<T> {
  const running = current();
  const effect = running?.effect;
  if (running === undefined || effect === undefined) return work(() => {});
  running.calls += 1;
  const { cause, trace, context, calls: number } = running;
  const own: Causing = {
    cause,
    trace,
    context,
    hasEnded: false,
    effect,
    calls: 0,
    get span() {
      return spanOfCall(running.span, number);
    },
  };
  let attributes = call.attributes;
  const startedAt = call.startedAtMs ?? Date.now();
  let error: string | undefined;
  let goesOn = false;
  try {
    return await under(own, () =>
      work((more) => {
        attributes = { ...attributes, ...more };
      }),
    );
  } catch (thrown) {
    goesOn = thrown instanceof HandlerWaits;
    error = call.errorType?.(thrown) ?? toSvcError(thrown).code;
    throw thrown;
  } finally {
    if (effect.sink !== null && context?.sampled !== false && !goesOn) {
      const { tenant, sink } = effect;
      const { name, kind } = call;
      const endedAt = Date.now();
      sink.ended({
        trace,
        id: own.span,
        parent: running.span,
        state: context?.state,
        tenant,
        name,
        kind,
        startedAt,
        endedAt,
        attributes,
        error,
      });
    }
  }
}
