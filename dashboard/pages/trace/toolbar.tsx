import { useQuery } from '@tanstack/react-query';
import type { RefObject } from 'react';
import { api } from '../../api/queries.ts';
import { useFilters } from '../../app/use-filters.ts';
import { SelectFilter, TextFilter } from '../../parts/filters.tsx';
import { formatCount, formatDuration, plainLine } from '../../parts/format.ts';
import { OUTCOMES } from '../../trace/batch.ts';
import type { Flow } from '../../trace/flows.ts';
import { kindOf } from '../../trace/selection.ts';
import type { Stage } from '../../trace/stage.ts';
import type { TraceView } from './use-trace.ts';

interface ToolbarProps {
  readonly view: TraceView;
  readonly stage: RefObject<Stage | null>;
  readonly searchField: RefObject<HTMLInputElement | null>;
  readonly stepHit: (step: 1 | -1) => void;
  readonly traceId: string;
}

/** Filters, search, and highlights of a trace. */
export function TraceToolbar({ view, searchField, stepHit, traceId }: Omit<ToolbarProps, 'stage'>) {
  const [search, setFilters] = useFilters();
  const { model, flow } = view;
  return (
    <>
      <div className="filters trace-filters">
        <SelectFilter
          label="Kind"
          value={search.kind ?? ''}
          options={[['', 'all'], ...kindsOf(view).map((one) => [one, one] as const)]}
          change={(value) => setFilters({ kind: value })}
        />
        <SelectFilter
          label="Outcome"
          value={search.outcome ?? ''}
          options={[['', 'all'], ...OUTCOMES.map((one) => [one, one] as const)]}
          change={(value) => setFilters({ outcome: value })}
        />
        <SelectFilter
          label="Node"
          value={search.node ?? ''}
          options={[['', 'all'], ...nodesOf(view).map((one) => [one, plainLine(one, 40)] as const)]}
          change={(value) => setFilters({ node: value })}
        />
        <TextFilter
          label="Actor"
          value={search.actor ?? ''}
          placeholder="name or address"
          change={(value) => setFilters({ actor: value }, true)}
        />
        <SearchField view={view} field={searchField} stepHit={stepHit} />
        <SelectFilter
          label="Group by"
          value={search.group ?? ''}
          options={[
            ['', 'kind'],
            ['node', 'node'],
          ]}
          change={(value) => setFilters({ group: value })}
        />
      </div>
      {flow !== 'near' && view.arrows.length > 0 && (
        <FlowNote flow={flow} messages={new Set(view.arrows).size} traceId={traceId} />
      )}
      {flow === 'causes' && view.selected !== -1 && view.arrows.length === 0 && (
        <p className="quiet">Nothing in this trace caused the selected message.</p>
      )}
      {flow === 'effects' && view.selected !== -1 && view.arrows.length === 0 && (
        <p className="quiet">The selected message caused no other.</p>
      )}
      {model.count > 0 && view.order.length === 0 && <p className="quiet">No delivery fits these filters.</p>}
    </>
  );
}

/** Views of the whole trace. */
export function TraceActions({ flow, stage }: Pick<TraceView, 'flow'> & Pick<ToolbarProps, 'stage'>) {
  const [search, setFilters] = useFilters();
  const isTable = search.view === 'table';
  return (
    <>
      <button
        type="button"
        aria-pressed={flow === 'path'}
        onClick={() => setFilters({ flow: flow === 'path' ? '' : 'path' })}
      >
        Critical path
      </button>
      {!isTable && (
        <button type="button" onClick={() => stage.current?.fit()}>
          Fit
        </button>
      )}
      <button type="button" aria-pressed={isTable} onClick={() => setFilters({ view: isTable ? '' : 'table' })}>
        Table
      </button>
    </>
  );
}

function SearchField({
  view,
  field,
  stepHit,
}: Omit<ToolbarProps, 'stage' | 'searchField' | 'traceId'> & {
  readonly field: RefObject<HTMLInputElement | null>;
}) {
  const [{ q = '' }, setFilters] = useFilters();
  const at = view.hits.indexOf(view.selected);
  return (
    <search className="filter">
      <input
        ref={field}
        type="search"
        aria-label="Search in this trace"
        placeholder="search (/)"
        value={q}
        onChange={(event) => setFilters({ q: event.target.value }, true)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') stepHit(event.shiftKey ? -1 : 1);
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      {q !== '' && (
        <span className="figures" role="status">
          {at === -1 ? formatCount(view.hits.length) : `${formatCount(at + 1)} of ${formatCount(view.hits.length)}`}
        </span>
      )}
      {view.hits.length > 0 && (
        <>
          <button type="button" className="plain" aria-label="Previous hit" onClick={() => stepHit(-1)}>
            ↑
          </button>
          <button type="button" className="plain" aria-label="Next hit" onClick={() => stepHit(1)}>
            ↓
          </button>
        </>
      )}
    </search>
  );
}

const FLOW_TEXTS: Readonly<Record<Exclude<Flow, 'near'>, string>> = {
  causes: 'Why this happened',
  effects: 'What this caused',
  path: 'Critical path',
};

/** The current highlight in words; for the critical path also the share of each part. */
function FlowNote({
  flow,
  messages,
  traceId,
}: {
  readonly flow: Exclude<Flow, 'near'>;
  readonly messages: number;
  readonly traceId: string;
}) {
  const [, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['trace', traceId, 'summary'],
    queryFn: () => api.traces.getSummary({ trace_id: traceId }),
    enabled: flow === 'path' && traceId !== '',
  });
  const path = flow === 'path' ? read.data?.critical_path : undefined;
  const parts =
    path === undefined
      ? []
      : [
          ...path.effects.map(({ kind, ms }) => [plainLine(kind, 40), ms] as const),
          ['turns', path.turns_ms] as const,
          ['mailboxes', path.mailbox_ms] as const,
          ['timers', path.timers_ms] as const,
          ['relay', path.relay_ms] as const,
        ].filter(([, ms]) => ms > 0);
  return (
    <div className="trace-flow" role="status">
      <strong>{FLOW_TEXTS[flow]}</strong>
      <span>{formatCount(messages)} messages</span>
      {path !== undefined && <span>{formatDuration(path.duration_ms)}</span>}
      {parts.map(([name, ms]) => (
        <span key={name} className="quiet figures">
          {name} {formatDuration(ms)}
        </span>
      ))}
      <button type="button" className="plain" onClick={() => setFilters({ flow: '' })}>
        Show all
      </button>
    </div>
  );
}

function kindsOf({ model }: TraceView): string[] {
  const { starts } = model.lanes;
  const kinds = model.names.filter((_name, lane) => (starts[lane + 1] ?? 0) > (starts[lane] ?? 0)).map(kindOf);
  return [...new Set(kinds)].sort();
}

function nodesOf({ model }: TraceView): string[] {
  const nodes = new Set<number>();
  for (let one = 0; one < model.count; one += 1) nodes.add(model.node.at(one));
  return [...nodes].flatMap((node) => model.name(node) ?? []).sort();
}
