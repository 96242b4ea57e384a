import { parseAddress } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import type { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { NewerVersion } from '../../runtime/turns/record.ts';
import { nextTrace } from '../../runtime/turns/trace-count.ts';
import type { RunKind } from '../runs/run.ts';
import type { Sight, SightParts } from './sight.ts';
import { STARTS } from './trace-status.ts';

export const TRACE_RELATIONS = ['next', 'previous', 'run', 'call', 'forked_from'] as const;

/**
 * Another trace that belongs to this one. `next`: this trace continues in it; `previous`: it continues in this trace; `run`:
 * the trace of the run that this call went to; `call`: the trace of a further call to the run; `forked_from`: the trace of the
 * run that this one was forked from.
 */
export interface TraceLink {
  readonly trace_id: string;
  readonly relation: (typeof TRACE_RELATIONS)[number];
}

/** Most calls to a run that are listed, and the newest deliveries of the run among which they are searched for. */
const MOST_CALLS = 20;
const LOOKED_THROUGH = 200;

interface LinkParts extends Pick<SightParts, 'workflows'> {
  readonly executions: {
    status(
      viewer: Sight['viewer'],
      id: string,
    ): Promise<{ readonly trace_id?: string; readonly forked_from?: ForkedFrom }>;
  };
  readonly ledger: LedgerReader;
  readonly sight: Sight;
}

/** The links of a trace. `first` are its first deliveries that the reader sees. */
export async function traceLinks(
  parts: LinkParts,
  trace: string,
  first: readonly LedgerDelivery[],
): Promise<readonly TraceLink[]> {
  const root = first.find(({ message }) => message.cause === null);
  const found = await Promise.all([
    root === undefined ? previousOf(parts, trace, first[0]) : [],
    nextOf(parts, trace),
    root === undefined ? [] : callsOf(parts, trace, root),
  ]);
  return found.flat();
}

const linkTo = (relation: TraceLink['relation'], ids: Iterable<string>): TraceLink[] =>
  [...ids].map((trace_id) => ({ trace_id, relation }));

async function nextOf({ ledger, sight }: LinkParts, trace: string): Promise<TraceLink[]> {
  const next = nextTrace(trace);
  const { deliveries } = await ledger.trace(sight.tenant, next, { limit: 1 });
  return linkTo('next', (await visible(sight, deliveries)).length > 0 ? [next] : []);
}

async function previousOf({ ledger, sight }: LinkParts, trace: string, first?: LedgerDelivery): Promise<TraceLink[]> {
  const cause = first?.message.cause ?? null;
  if (cause === null) return [];
  const [found] = await visible(sight, await ledger.message(sight.tenant, cause));
  return linkTo('previous', found === undefined || found.message.trace === trace ? [] : [found.message.trace]);
}

/** Of a start: the traces of further calls to its run. Of such a call: the trace of the run. */
async function callsOf(parts: LinkParts, trace: string, { message }: LedgerDelivery): Promise<TraceLink[]> {
  const { ledger, sight } = parts;
  const { kind, id } = parseAddress(message.to);
  if (kind !== 'execution' && kind !== 'workflow') return [];
  if (!STARTS.has(message.type)) {
    const own = (await standingOf(parts, kind, id))?.trace_id;
    return linkTo('run', own === undefined || own === trace ? [] : [own]);
  }
  const { deliveries } = await ledger.actor(message.to, { limit: LOOKED_THROUGH, newestFirst: true });
  const calls = deliveries.filter((one) => one.message.cause === null && one.message.trace !== trace);
  const traces = new Set((await visible(sight, calls)).map((one) => one.message.trace));
  const origin = message.type === 'Fork' ? await originOf(parts, kind, id) : undefined;
  return [...linkTo('call', [...traces].slice(0, MOST_CALLS)), ...linkTo('forked_from', origin ?? [])];
}

/** The trace of the run that a fork came from, when the reader may see that. */
async function originOf(parts: LinkParts, kind: RunKind, id: string): Promise<readonly string[]> {
  const from = (await standingOf(parts, kind, id))?.forked_from;
  const origin = from === undefined ? undefined : await standingOf(parts, kind, from.id);
  return origin?.trace_id === undefined ? [] : [origin.trace_id];
}

async function standingOf(
  { executions, workflows, sight }: LinkParts,
  kind: RunKind,
  id: string,
): Promise<{ readonly trace_id?: string; readonly forked_from?: ForkedFrom } | undefined> {
  try {
    return await (kind === 'execution' ? executions : workflows).status(sight.viewer, id);
  } catch (thrown) {
    if (thrown instanceof NewerVersion) return undefined;
    if (thrown instanceof SvcError && thrown.code === 'not_found') return undefined;
    throw thrown;
  }
}

async function visible(sight: Sight, deliveries: readonly LedgerDelivery[]): Promise<readonly LedgerDelivery[]> {
  const seen = await Promise.all(deliveries.map(({ message }) => sight.seesMessage(message)));
  return deliveries.filter((_one, index) => seen[index]);
}
