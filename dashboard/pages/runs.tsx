import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { LIST_REFRESH_MS } from '../api/queries.ts';
import { listRuns, RUN_STATUSES, type Run } from '../api/runs.ts';
import { useMay } from '../app/session.ts';
import { useFilters } from '../app/use-filters.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { SelectFilter, TextFilter } from '../parts/filters.tsx';
import { formatCount, plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Status, statusLabel } from '../parts/status.tsx';
import { useSteadyRows } from '../parts/steady-rows.ts';
import { Duration, TimeAgo } from '../parts/time.tsx';
import { RunActions } from './runs-actions.tsx';

const NO_RUNS: readonly Run[] = [];
const keyOf = (run: Run): string => `${run.kind}/${run.id}`;

/** Runs of agents and workflows in one list: filters in the address, live, cancel and delete of selected rows. */
export function RunsPage() {
  const [{ kind = '', status = '', text = '' }, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['runs', kind, status, text],
    queryFn: () => listRuns({ kind, status, text }),
    refetchInterval: LIST_REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { rows, fresh, show } = useSteadyRows(read.data?.runs ?? NO_RUNS, keyOf, `${kind} ${status} ${text}`);
  const columns = useColumns(rows, selected, setSelected);
  const navigate = useNavigate();
  const chosen = rows.filter((run) => selected.has(keyOf(run)));
  return (
    <>
      <PageHead title="Runs" note={read.data === undefined ? undefined : `${formatCount(rows.length)} shown`}>
        <RunActions runs={chosen} done={() => setSelected(new Set())} />
      </PageHead>
      <div className="filters">
        <SelectFilter
          label="Kind"
          value={kind}
          options={[
            ['', 'agents and workflows'],
            ['execution', 'agents'],
            ['workflow', 'workflows'],
          ]}
          change={(value) => setFilters({ kind: value })}
        />
        <SelectFilter
          label="Status"
          value={status}
          options={[['', 'any'], ...RUN_STATUSES.map((one) => [one, statusLabel(one)] as const)]}
          change={(value) => setFilters({ status: value })}
        />
        <TextFilter
          label="Text"
          value={text}
          placeholder="name, id or reason"
          change={(value) => setFilters({ text: value }, true)}
        />
        {fresh > 0 && (
          <button type="button" className="fresh" onClick={show}>
            {fresh} new
          </button>
        )}
      </div>
      <ReadState of={read} what="runs" />
      {read.data !== undefined &&
        (rows.length === 0 ? (
          <NoRuns
            isFiltered={kind + status + text !== ''}
            clear={() => setFilters({ kind: '', status: '', text: '' })}
          />
        ) : (
          <DataTable
            label="Runs"
            columns={columns}
            rows={rows}
            rowKey={keyOf}
            isMarked={(run) => selected.has(keyOf(run))}
            open={({ kind: ofKind, id }) => void navigate({ to: '/runs/$kind/$id', params: { kind: ofKind, id } })}
          />
        ))}
    </>
  );
}

function NoRuns({ isFiltered, clear }: { readonly isFiltered: boolean; readonly clear: () => void }) {
  if (isFiltered) {
    return (
      <Empty title="No run fits these filters.">
        <button type="button" onClick={clear}>
          Clear the filters
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has run here yet.">
      Start one from the <Link to="/catalog">catalog</Link>, or in a terminal: <code>svc task execute NAME</code>.
    </Empty>
  );
}

function useColumns(
  rows: readonly Run[],
  selected: ReadonlySet<string>,
  setSelected: (keys: ReadonlySet<string>) => void,
): readonly Column<Run>[] {
  const may = useMay();
  const selects = may('run') || may('write');
  return useMemo(() => {
    const choose: Column<Run> = {
      key: 'select',
      label: (
        <input
          type="checkbox"
          aria-label="Select all shown runs"
          checked={rows.length > 0 && selected.size >= rows.length}
          onChange={(event) => setSelected(event.target.checked ? new Set(rows.map(keyOf)) : new Set())}
        />
      ),
      width: '28px',
      cell: (run) => (
        <input
          type="checkbox"
          aria-label={`Select run ${run.id}`}
          checked={selected.has(keyOf(run))}
          onChange={(event) => {
            const next = new Set(selected);
            if (event.target.checked) next.add(keyOf(run));
            else next.delete(keyOf(run));
            setSelected(next);
          }}
        />
      ),
    };
    return selects ? [choose, ...COLUMNS] : COLUMNS;
  }, [rows, selected, setSelected, selects]);
}

const COLUMNS: readonly Column<Run>[] = [
  { key: 'status', label: 'Status', width: '150px', cell: ({ status }) => <Status status={status} /> },
  {
    key: 'name',
    label: 'Name',
    width: 'minmax(140px, 1.2fr)',
    cell: ({ kind, id, name, version }) => (
      <>
        <Link to="/runs/$kind/$id" params={{ kind, id }}>
          {plainLine(name, 100)}
        </Link>
        {version !== null && <span className="quiet"> {plainLine(version, 20)}</span>}
      </>
    ),
  },
  {
    key: 'kind',
    label: 'Kind',
    width: '90px',
    wide: true,
    cell: ({ kind }) => (kind === 'execution' ? 'agent' : 'workflow'),
  },
  {
    key: 'reason',
    label: 'Waits or failed because',
    width: 'minmax(160px, 2fr)',
    wide: true,
    cell: ({ reason }) =>
      reason === null ? null : (
        <span className="ellipsis" title={plainLine(reason, 1_000)}>
          {plainLine(reason)}
        </span>
      ),
  },
  { key: 'started', label: 'Started', width: '100px', cell: ({ startedAt }) => <TimeAgo at={startedAt} /> },
  {
    key: 'took',
    label: 'Took',
    width: '100px',
    wide: true,
    cell: ({ startedAt, endedAt }) => <Duration from={startedAt} to={endedAt} />,
  },
  { key: 'id', label: 'Id', width: '110px', wide: true, cell: ({ id }) => <Id id={id} /> },
];
