import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useRunList } from '../api/run-list.ts';
import { filterOf, RUN_STATUSES, type Run, TEXT_FILTERS, WAIT_REASONS } from '../api/runs.ts';
import { useMay, useSession } from '../app/session.ts';
import { useFilters } from '../app/use-filters.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { MoreFilters, NewRows, SelectFilter, TextFilter } from '../parts/filters.tsx';
import { formatCount } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { statusLabel } from '../parts/status.tsx';
import { useSteadyRows } from '../parts/steady-rows.ts';
import { RunActions } from './runs-actions.tsx';
import { ColumnChoice, useChosenColumns } from './runs-columns.tsx';

const keyOf = (run: Run): string => run.id;

const FILTERS = ['kind', 'status', 'wait_reason', 'text', ...TEXT_FILTERS.map(([name]) => name)];
const NO_FILTER = Object.fromEntries(FILTERS.map((name) => [name, '']));

/** Runs of agents and workflows in one list: filters in the address, live, cancel and delete of selected rows. */
export function RunsPage() {
  const [search] = useFilters();
  const filter = useMemo(() => filterOf(search), [search]);
  const read = useRunList(filter, search.tenant);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { rows, fresh, show } = useSteadyRows(read.runs, keyOf, JSON.stringify([filter, search.tenant]));
  const columns = useColumns(rows, selected, setSelected);
  const navigate = useNavigate();
  const chosen = rows.filter((run) => selected.has(run.id));
  const note = read.isPending ? undefined : `${formatCount(rows.length)}${read.hasMore ? ' and more' : ''}`;
  return (
    <>
      <PageHead title="Runs" note={note}>
        <RunActions runs={chosen} done={() => setSelected(new Set())} />
      </PageHead>
      <RunFilters fresh={fresh} show={show} />
      <ReadState of={read} what="runs" />
      {!read.isPending && rows.length === 0 && read.error === null && <NoRuns />}
      {rows.length > 0 && (
        <DataTable
          label="Runs"
          columns={columns}
          rows={rows}
          rowKey={keyOf}
          isMarked={(run) => selected.has(run.id)}
          open={({ kind, id }) => void navigate({ to: '/runs/$kind/$id', params: { kind, id } })}
          more={read.more}
        />
      )}
    </>
  );
}

function RunFilters({ fresh, show }: { readonly fresh: number; readonly show: () => void }) {
  const [search, setFilters] = useFilters();
  const { me } = useSession();
  return (
    <div className="filters">
      <SelectFilter
        label="Kind"
        value={search.kind ?? ''}
        options={[
          ['', 'agents and workflows'],
          ['execution', 'agents'],
          ['workflow', 'workflows'],
        ]}
        change={(value) => setFilters({ kind: value })}
      />
      <SelectFilter
        label="Status"
        value={search.status ?? ''}
        options={[
          ['', 'any'],
          ['unfinished', 'unfinished'],
          ...RUN_STATUSES.map((one) => [one, statusLabel(one)] as const),
        ]}
        change={(value) => setFilters({ status: value })}
      />
      <SelectFilter
        label="Waits for"
        value={search.wait_reason ?? ''}
        options={[['', 'anything or nothing'], ...WAIT_REASONS]}
        change={(value) => setFilters({ wait_reason: value })}
      />
      <TextFilter
        label="Text"
        value={search.text ?? ''}
        placeholder="id or part of the name"
        change={(value) => setFilters({ text: value }, true)}
      />
      {me?.kind === 'service_account' && (
        <TextFilter
          label="Tenant"
          value={search.tenant ?? ''}
          placeholder="its own"
          change={(value) => setFilters({ tenant: value })}
        />
      )}
      <MoreFilters fields={TEXT_FILTERS} values={search} change={setFilters} />
      <ColumnChoice />
      <NewRows count={fresh} show={show} />
    </div>
  );
}

function NoRuns() {
  const [search, setFilters] = useFilters();
  if (FILTERS.some((name) => (search[name] ?? '') !== '')) {
    return (
      <Empty title="No run fits these filters.">
        <button type="button" onClick={() => setFilters(NO_FILTER)}>
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
  const columns = useChosenColumns();
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
      width: '24px',
      cell: ({ id }) => (
        <input
          type="checkbox"
          aria-label={`Select run ${id}`}
          checked={selected.has(id)}
          onChange={(event) => {
            const next = new Set(selected);
            if (event.target.checked) next.add(id);
            else next.delete(id);
            setSelected(next);
          }}
        />
      ),
    };
    return selects ? [choose, ...columns] : columns;
  }, [rows, selected, setSelected, selects, columns]);
}
