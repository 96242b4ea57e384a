import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { TraceRow } from '../../../clients/typescript/gen/operations.ts';
import { useLiveList } from '../../api/live-list.ts';
import { api } from '../../api/queries.ts';
import type { Search } from '../../app/search-params.ts';
import { useFilters } from '../../app/use-filters.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { MoreFilters, NewRows, SelectFilter, TextFilter } from '../../parts/filters.tsx';
import { formatCount, plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { RowLink } from '../../parts/row-link.tsx';
import { Status } from '../../parts/status.tsx';
import { useSteadyRows } from '../../parts/steady-rows.ts';
import { STARTED, TOOK } from '../../parts/time.tsx';

const STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const;
const PAGE_ROWS = 100;
const HEAD_ROWS = 50;

const TEXTS = [
  ['name', 'Name', 'of the agent or workflow'],
  ['kind', 'Root', 'kind of actor'],
  ['actor_kind', 'Touches', 'kind of actor'],
  ['error_code', 'Error code', ''],
  ['node', 'Node', ''],
] as const;

const DURATIONS = [
  ['', 'any'],
  ['100', 'over 100 ms'],
  ['1000', 'over 1 s'],
  ['10000', 'over 10 s'],
  ['60000', 'over 1 min'],
] as const;

const FILTERS = ['status', 'text', 'min_duration_ms', ...TEXTS.map(([name]) => name)];

function filterOf(search: Search) {
  const text = (name: string): string | undefined => search[name] || undefined;
  const least = text('min_duration_ms');
  return {
    status: STATUSES.find((one) => one === search.status),
    text: text('text'),
    name: text('name'),
    kind: text('kind'),
    actor_kind: text('actor_kind'),
    error_code: text('error_code'),
    node: text('node'),
    min_duration_ms: least === undefined ? undefined : Number(least),
  };
}

type Filter = ReturnType<typeof filterOf>;

const keyOf = ({ root }: TraceRow): string => root;

/** Traces of the filter. */
const useTraceList = (filter: Filter) =>
  useLiveList<TraceRow>({
    name: 'traces',
    filter,
    pageRows: PAGE_ROWS,
    headRows: HEAD_ROWS,
    async read({ limit, next, signal }) {
      const page = await api.traces.list({ ...filter, limit, next }, { signal });
      return { rows: page.traces, next: page.next };
    },
    keyOf,
  });

/** Traces, newest first: one for each call of a client. */
export function TracesPage() {
  const [search] = useFilters();
  const filter = useMemo(() => filterOf(search), [search]);
  const { rows: traces, pages, more } = useTraceList(filter);
  const { rows, fresh, show } = useSteadyRows(traces, keyOf, JSON.stringify(filter));
  const navigate = useNavigate();
  const note = pages.isPending ? undefined : `${formatCount(rows.length)}${pages.hasNextPage ? ' and more' : ''}`;
  return (
    <>
      <PageHead title="Traces" note={note} />
      <ListFilters fresh={fresh} show={show} />
      <ReadState of={pages} what="traces" />
      {!pages.isPending && pages.error === null && rows.length === 0 && (
        <NoTraces isMore={pages.hasNextPage} more={more} />
      )}
      {rows.length > 0 && (
        <DataTable
          label="Traces"
          columns={COLUMNS}
          rows={rows}
          rowKey={keyOf}
          open={({ trace_id }) => void navigate({ to: '/traces/$id', params: { id: trace_id } })}
          more={more}
        />
      )}
    </>
  );
}

function ListFilters({ fresh, show }: { readonly fresh: number; readonly show: () => void }) {
  const [search, setFilters] = useFilters();
  return (
    <div className="filters">
      <SelectFilter
        label="Status"
        value={search.status ?? ''}
        options={[['', 'any'], ...STATUSES.map((one) => [one, one] as const)]}
        change={(value) => setFilters({ status: value })}
      />
      <SelectFilter
        label="Took"
        value={search.min_duration_ms ?? ''}
        options={DURATIONS}
        change={(value) => setFilters({ min_duration_ms: value })}
      />
      <TextFilter
        label="Text"
        value={search.text ?? ''}
        placeholder="name, id, error, input"
        change={(value) => setFilters({ text: value }, true)}
      />
      <MoreFilters fields={TEXTS} values={search} change={setFilters} />
      <NewRows count={fresh} show={show} />
    </div>
  );
}

function NoTraces({ isMore, more }: { readonly isMore: boolean; readonly more: () => void }) {
  const [search, setFilters] = useFilters();
  if (isMore) {
    return (
      <Empty title="No newer trace fits these filters.">
        <button type="button" onClick={more}>
          Look further back
        </button>
      </Empty>
    );
  }
  if (FILTERS.some((name) => (search[name] ?? '') !== '')) {
    return (
      <Empty title="No trace fits these filters.">
        <button type="button" onClick={() => setFilters(Object.fromEntries(FILTERS.map((name) => [name, ''])))}>
          Clear the filters
        </button>
      </Empty>
    );
  }
  return <Empty title="Nothing has been called here yet.">Each call of a client begins a trace.</Empty>;
}

const COLUMNS: readonly Column<TraceRow>[] = [
  { key: 'status', label: 'Status', width: '120px', cell: ({ status }) => <Status status={status} /> },
  {
    key: 'name',
    label: 'Name',
    width: 'minmax(96px, 1.5fr)',
    cell: ({ trace_id, name, kind, type }) => (
      <>
        <Link to="/traces/$id" params={{ id: trace_id }}>
          {plainLine(name ?? kind, 100)}
        </Link>
        <span className="quiet"> {plainLine(type, 40)}</span>
      </>
    ),
  },
  {
    key: 'root',
    label: 'Root',
    width: 'minmax(0, 1fr)',
    wide: true,
    cell: ({ kind, id }) => (
      <RowLink href={kind === 'execution' || kind === 'workflow' ? `/runs/${kind}/${id}` : `/actors/${kind}/${id}`}>
        {plainLine(kind, 40)} <code>{plainLine(id.slice(0, 8), 60)}</code>
      </RowLink>
    ),
  },
  {
    key: 'error',
    label: 'Error',
    width: 'minmax(0, 0.8fr)',
    wide: true,
    cell: ({ error_code }) => plainLine(error_code ?? '–', 60),
  },
  {
    key: 'node',
    label: 'Node',
    width: 'minmax(0, 0.6fr)',
    wide: true,
    cell: ({ node }) => (node === null ? '–' : <code>{plainLine(node.slice(0, 8), 40)}</code>),
  },
  STARTED,
  TOOK,
  { key: 'id', label: 'Id', width: '112px', wide: true, cell: ({ trace_id }) => <Id id={trace_id} length={10} /> },
];
