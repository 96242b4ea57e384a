import { parseAddress } from '../../runtime/address.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import { criticalPath, endOf, type PathStep, type TimedDelivery } from './critical-path.ts';
import { isoTime } from './reader-view.ts';
import { type TimedWait, type TraceTimes, traceTimes } from './summary.ts';
import { keptLedger, namingNext, type TraceHead, type TracePage, type TraceParts, TraceReading } from './trace.ts';
import { openTraceEffects, resultEffects } from './trace-effects.ts';
import { listTraces, type TraceFilter, type TraceList } from './trace-list.ts';
import { traceOfRun } from './trace-status.ts';

/** The critical path of a trace. */
interface ShownPath extends TraceHead {
  readonly duration_ms: number;
  readonly steps: readonly (Omit<PathStep, 'from' | 'until'> & {
    readonly from_at: string;
    readonly to_at: string;
    readonly ms: number;
  })[];
  /** Made of the first 11,000 deliveries only. */
  readonly cut?: true;
}

/** How the time of a trace was spent. */
interface ShownSummary extends TraceHead, TraceTimes {
  readonly cut?: true;
}

/** Reads traces as one reader sees them. All calls throw `not_found` for a trace of which it sees nothing. */
export interface TraceApi {
  page(viewer: Identity, trace: string, page: { limit: number; next?: string | undefined }): Promise<TracePage>;
  /** The trace of an execution or a workflow run. */
  ofRun(viewer: Identity, run: string, page: { limit: number; next?: string | undefined }): Promise<TracePage>;
  /** All pages in order, for answers that stream. */
  pages(viewer: Identity, trace: string): AsyncGenerator<TracePage>;
  criticalPath(viewer: Identity, trace: string): Promise<ShownPath>;
  summary(viewer: Identity, trace: string): Promise<ShownSummary>;
  /** Newest first. A page may be short, or empty, although `next` says that more follows. */
  list(viewer: Identity, filter: TraceFilter): Promise<TraceList>;
}

/** Deliveries of each page of an answer that streams. */
const STREAMED_AT_ONCE = 1_000;

/** Most approvals of a trace whose answers are looked up. */
const MOST_APPROVALS = 100;

export function createTraceApi(parts: TraceParts): TraceApi {
  return {
    page: (viewer, trace, page) => namingNext(new TraceReading(parts, viewer, trace).page(page)),
    async ofRun(viewer, run, page) {
      const trace = await traceOfRun(parts, viewer, run);
      return namingNext(new TraceReading(parts, viewer, trace).page(page));
    },
    pages: (viewer, trace) => new TraceReading(parts, viewer, trace).pages(STREAMED_AT_ONCE),

    async criticalPath(viewer, trace) {
      const { head, deliveries, cut } = await new TraceReading(parts, viewer, trace).whole();
      const steps = criticalPath(await timed(parts, deliveries));
      return {
        ...head,
        duration_ms: rounded(steps.reduce((total, { from, until }) => total + until - from, 0)),
        steps: steps.map(({ from, until, ...step }) => ({
          ...step,
          from_at: isoTime(from),
          to_at: isoTime(until),
          ms: rounded(until - from),
        })),
        ...(cut ? { cut } : {}),
      };
    },

    async summary(viewer, trace) {
      const reading = new TraceReading(parts, viewer, trace);
      const { head, deliveries, cut } = await reading.whole();
      const open = head.status === 'running' ? await openTraceEffects(parts, trace, deliveries) : [];
      const effects = [...(await resultEffects(parts, deliveries)), ...open];
      const times = traceTimes({
        deliveries: await timed(parts, deliveries),
        effects: effects.map(({ effect_id, kind, started_at, ended_at }) => ({
          effect_id,
          kind,
          started_at: started_at === null ? null : Date.parse(started_at),
          ended_at: ended_at === null ? null : Date.parse(ended_at),
        })),
        people: await peopleWaits(parts, head, deliveries),
      });
      return { ...head, ...times, ...(cut ? { cut } : {}) };
    },

    list: (viewer, filter) => namingNext(listTraces(parts, viewer, filter)),
  };
}

/** Turns are measured in microseconds. */
const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;

async function timed(parts: TraceParts, deliveries: readonly LedgerDelivery[]): Promise<TimedDelivery[]> {
  const kinds = new Map((await resultEffects(parts, deliveries)).map(({ effect_id, kind }) => [effect_id, kind]));
  return deliveries.map(({ message, at, row, effect }) => ({
    message_id: message.id,
    cause_id: message.cause,
    to: message.to,
    type: message.type,
    at,
    wait_ms: row?.waitMs ?? 0,
    turn_ms: (row?.turnUs ?? 0) / 1_000,
    origin: message.origin,
    effect_kind: effect === null ? null : (kinds.get(effect) ?? null),
  }));
}

/** From the turn that opened an approval to the message that settled it, or to now while it is pending. */
async function peopleWaits(
  parts: TraceParts,
  { status, ended_at }: TraceHead,
  deliveries: readonly LedgerDelivery[],
): Promise<TimedWait[]> {
  const ledger = keptLedger(parts);
  const asked = deliveries.filter(({ message, row }) => {
    return parseAddress(message.to).kind === 'approval' && message.type === 'Ask' && row?.outcome === 'done';
  });
  return Promise.all(
    asked.slice(0, MOST_APPROVALS).map(async ({ message, at, row }): Promise<TimedWait> => {
      const { deliveries: all } = await ledger.actor(message.to, { limit: 100 });
      const settled = all.find((one) => one.message.type !== 'Ask' && one.row?.outcome === 'done');
      const from = endOf({ at, wait_ms: row?.waitMs ?? 0, turn_ms: (row?.turnUs ?? 0) / 1_000 });
      if (settled !== undefined) return { from, until: settled.at };
      return { from, until: status === 'running' || ended_at === null ? parts.clock.now() : Date.parse(ended_at) };
    }),
  );
}
