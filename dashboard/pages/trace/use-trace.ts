import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { useRunNames } from '../../api/run-names.ts';
import { useFilters } from '../../app/use-filters.ts';
import { arrowsOf, type Flow } from '../../trace/flows.ts';
import { type GroupBy, layOut } from '../../trace/layout.ts';
import { TraceModel } from '../../trace/model.ts';
import { hitsOf, inOrder, shownBy } from '../../trace/selection.ts';
import type { StageContent } from '../../trace/stage.ts';
import { TraceFeed, type TraceState } from '../../trace/trace-feed.ts';

const NOTHING_YET: TraceState = { model: new TraceModel(), version: 0, head: null, isReading: true, error: null };

const nothing = (): (() => void) => () => {};

/** The part of a trace that has been read; it grows while the page is open. */
export function useTrace(id: string): TraceState & { readonly readOn: () => void } {
  const [feed, setFeed] = useState<TraceFeed | null>(null);
  useEffect(() => {
    const one = new TraceFeed(id);
    setFeed(one);
    return () => one.close();
  }, [id]);
  const state = useSyncExternalStore(feed?.subscribe ?? nothing, feed?.state ?? (() => NOTHING_YET));
  return { ...state, readOn: feed?.readOn ?? (() => {}) };
}

const FLOWS: readonly Flow[] = ['causes', 'effects', 'path'];

export interface TraceView extends StageContent {
  readonly flow: Flow;
  /** Shown deliveries by time. */
  readonly order: Uint32Array;
}

/** Resolves the address against the part of the trace that has been read. */
export function useTraceView(id: string, { model, version, isReading, head }: TraceState): TraceView {
  const [search] = useFilters();
  const { kind = '', outcome = '', actor = '', node = '', q = '', group = '', fold = '', m = '' } = search;
  const runNames = useRunNames(id, head?.status);
  const flow = FLOWS.find((one) => one === search.flow) ?? 'near';
  // biome-ignore-start lint/correctness/useExhaustiveDependencies: the model changes in place, its version says so.
  const shown = useMemo(
    () => shownBy(model, { kind, outcome, actor, node }, runNames),
    [model, version, kind, outcome, actor, node, runNames],
  );
  const layout = useMemo(() => {
    const by: GroupBy = group === 'node' ? 'node' : 'kind';
    return layOut(model, { by, toggled: new Set(fold.split(',').filter((one) => one !== '')), shown });
  }, [model, version, shown, group, fold]);
  const order = useMemo(() => inOrder(model, shown), [model, version, shown]);
  const hits = useMemo(() => hitsOf(model, q, shown, runNames), [model, version, q, shown, runNames]);
  const selected = useMemo(() => (m === '' ? -1 : model.find(m)), [model, version, m]);
  const arrows = useMemo(() => arrowsOf(model, flow, selected), [model, version, flow, selected]);
  // biome-ignore-end lint/correctness/useExhaustiveDependencies: see above.
  return useMemo(
    () => ({
      model,
      layout,
      shown,
      selected,
      arrows,
      isDimmed: flow !== 'near' && arrows.length > 0,
      hits,
      runNames,
      flow,
      order,
      isReading,
    }),
    [model, layout, shown, selected, arrows, hits, runNames, flow, order, isReading],
  );
}
