import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Delivery, TraceEffect } from '../../clients/typescript/gen/operations.ts';
import { shortNode } from '../parts/format.ts';
import { api } from './queries.ts';
import type { RunKind } from './runs.ts';
import type { Span } from './timeline.ts';

/** Pages of a trace that a run's page reads; the page of the trace shows the rest. */
const MOST_PAGES = 5;

const LIVE_MS = 2_000;
/** The ledger gets the last deliveries of a run a moment after its end. */
const SETTLED_MS = 10_000;

interface RunRef {
  readonly kind: RunKind;
  readonly id: string;
  /** Null while the list does not have the run. */
  readonly trace: string | null;
  readonly isLive: boolean;
}

/** Effects and takeovers of a run from its trace, as spans of its time axis. */
export function useTraceSpans({ kind, id, trace, isLive }: RunRef): readonly Span[] {
  const isRecent = useRecentlyLive(isLive);
  const { data = [] } = useQuery({
    queryKey: ['run-trace', trace, kind, id],
    enabled: trace !== null,
    queryFn: async () => {
      // Just after the start the ledger does not have the trace yet.
      const { deliveries } = await api.actors.listHistory({ kind, id, limit: 1 });
      if (deliveries.length === 0) return [];
      return spansOfTrace(`${kind}/`, `/${id}`, await readTrace(trace ?? ''));
    },
    refetchInterval: isRecent ? LIVE_MS : false,
    retry: false,
  });
  return data;
}

interface Read {
  readonly deliveries: Delivery[];
  readonly effects: TraceEffect[];
}

/** Whether a run is unfinished, or ended a moment ago. */
export function useRecentlyLive(isLive: boolean): boolean {
  const [isRecent, setIsRecent] = useState(isLive);
  useEffect(() => {
    if (isLive) {
      setIsRecent(true);
      return;
    }
    const timer = setTimeout(() => setIsRecent(false), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [isLive]);
  return isLive || isRecent;
}

/** The part of a trace that the pages of a run need. */
export async function readTrace(trace_id: string): Promise<Read> {
  const read: Read = { deliveries: [], effects: [] };
  let next: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await api.traces.get({ trace_id, next });
    read.deliveries.push(...page.deliveries);
    read.effects.push(...page.effects);
    if (page.next === null) break;
    next = page.next;
  }
  return read;
}

/** Effects that turns of the run requested, and the times when another node took it over. */
function spansOfTrace(begin: string, end: string, { deliveries, effects }: Read): Span[] {
  const own = deliveries.filter(({ to }) => to.startsWith(begin) && to.endsWith(end));
  const messages = new Set(own.map(({ message_id }) => message_id));
  const spans = effects.flatMap((effect) => (messages.has(effect.message_id ?? '') ? spanOf(effect) : []));
  let node: string | null = null;
  for (const delivery of own) {
    const at = Date.parse(delivery.at);
    if (node !== null && delivery.node !== null && delivery.node !== node)
      spans.push({
        key: `takeover ${delivery.message_id}`,
        label: 'taken over',
        kind: 'takeover',
        from: at,
        to: at,
        status: 'waiting',
        detail: `${shortNode(node)} → ${shortNode(delivery.node)}`,
      });
    node = delivery.node ?? node;
  }
  return spans;
}

const STATUS: Readonly<Record<TraceEffect['outcome'], Span['status']>> = {
  done: 'completed',
  failed: 'failed',
  in_doubt: 'failed',
  open: 'waiting',
  started: 'running',
  retrying: 'waiting',
};

function spanOf({ effect_id, kind, attempt, node, started_at, ended_at, outcome }: TraceEffect): Span[] {
  if (started_at === null) return [];
  const tries = attempt > 1 ? `, attempt ${attempt}` : '';
  return [
    {
      key: `effect ${effect_id} ${attempt}`,
      label: kind ?? 'effect',
      kind: 'effect',
      from: Date.parse(started_at),
      to: ended_at === null ? null : Date.parse(ended_at),
      status: STATUS[outcome],
      detail: `${outcome.replaceAll('_', ' ')}${tries}${node === null ? '' : ` on ${shortNode(node)}`}`,
    },
  ];
}
