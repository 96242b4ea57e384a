import { useMemo } from 'react';
import { type Run, WAIT_REASONS } from '../api/runs.ts';
import { useFilters } from '../app/use-filters.ts';
import type { Column } from '../parts/data-table.tsx';
import { plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { RowLink } from '../parts/row-link.tsx';
import { RunStatus } from '../parts/status.tsx';
import { STARTED, TOOK } from '../parts/time.tsx';

/** The error of a failed run, or the reason why it waits. */
function Reason({ run }: { readonly run: Run }) {
  const waits = WAIT_REASONS.find(([kind]) => kind === run.wait_reason)?.[1];
  const place = run.ended_at === null && run.state_name !== null ? `in state ${run.state_name}` : '';
  const text = run.reason ?? `${waits === undefined ? '' : `waits for ${waits} `}${place}`;
  return (
    <span className="ellipsis" title={plainLine(text, 1_000)}>
      {plainLine(text)}
    </span>
  );
}

const COLUMNS: readonly Column<Run>[] = [
  {
    key: 'status',
    label: 'Status',
    width: '144px',
    cell: ({ status, outcome }) => <RunStatus status={status} outcome={outcome} />,
  },
  {
    key: 'name',
    label: 'Name',
    width: 'minmax(150px, 1.6fr)',
    cell: ({ kind, id, name, version }) => (
      <>
        <RowLink href={`/runs/${kind}/${id}`}>{plainLine(name, 100)}</RowLink>
        <span className="quiet"> {plainLine(version, 20)}</span>
      </>
    ),
  },
  {
    key: 'kind',
    label: 'Kind',
    width: '72px',
    wide: true,
    cell: ({ kind }) => (kind === 'execution' ? 'agent' : 'workflow'),
  },
  {
    key: 'reason',
    label: 'Waits for, or why it failed',
    width: 'minmax(160px, 2.4fr)',
    wide: true,
    cell: (run) => <Reason run={run} />,
  },
  {
    key: 'labels',
    label: 'Labels',
    width: 'minmax(60px, 0.6fr)',
    wide: true,
    cell: ({ labels }) =>
      plainLine(
        Object.entries(labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(' '),
      ),
  },
  STARTED,
  { ...TOOK, wide: true },
  { key: 'id', label: 'Id', width: '96px', wide: true, cell: ({ id }) => <Id id={id} /> },
  {
    key: 'outcome',
    label: 'Outcome',
    width: '88px',
    wide: true,
    cell: ({ outcome }) => outcome ?? '',
  },
  {
    key: 'error',
    label: 'Error code',
    width: 'minmax(96px, 1fr)',
    wide: true,
    cell: ({ error_code }) => plainLine(error_code ?? '', 60),
  },
  {
    key: 'node',
    label: 'Node',
    width: 'minmax(88px, 1fr)',
    wide: true,
    cell: ({ node }) => (
      <span className="ellipsis" title={plainLine(node ?? '')}>
        {plainLine(node ?? '', 60)}
      </span>
    ),
  },
  {
    key: 'tags',
    label: 'Tags',
    width: 'minmax(0, 0.6fr)',
    wide: true,
    cell: ({ tags }) => plainLine(tags.join(', '), 100),
  },
  {
    key: 'parent',
    label: 'Started by',
    width: '144px',
    wide: true,
    cell: ({ parent }) =>
      parent === null ? (
        ''
      ) : parent.kind === 'workflow' || parent.kind === 'execution' ? (
        <RowLink href={`/runs/${parent.kind}/${parent.id}`}>
          {parent.kind} {parent.id.slice(0, 8)}
        </RowLink>
      ) : (
        plainLine(`${parent.kind} ${parent.id.slice(0, 8)}`, 60)
      ),
  },
  {
    key: 'trace',
    label: 'Trace',
    width: '96px',
    wide: true,
    cell: ({ trace_id }) =>
      trace_id === null ? '' : <RowLink href={`/traces/${trace_id}`}>{trace_id.slice(0, 8)}</RowLink>,
  },
];

const USUAL = ['status', 'name', 'kind', 'reason', 'labels', 'started', 'took', 'id'];

const chosenOf = (text: string | undefined): readonly string[] =>
  text === undefined || text === '' ? USUAL : text.split(',');

/**
 * The columns that the address names, also in a narrow window; or the default ones. The column that identifies the run is
 * always shown.
 */
export function useChosenColumns(): readonly Column<Run>[] {
  const [{ columns }] = useFilters();
  return useMemo(() => {
    const chosen = new Set(['name', ...chosenOf(columns)]);
    const shown = COLUMNS.filter(({ key }) => chosen.has(key));
    return columns === undefined || columns === '' ? shown : shown.map((column) => ({ ...column, wide: false }));
  }, [columns]);
}

/** Chooses the columns; the address keeps them. */
export function ColumnChoice() {
  const [{ columns }, setFilters] = useFilters();
  const chosen = chosenOf(columns);
  const toggle = (key: string): void => {
    const next = COLUMNS.map((one) => one.key).filter((one) => (one === key) !== chosen.includes(one));
    setFilters({ columns: next.join(',') === USUAL.join(',') ? '' : next.join(',') }, true);
  };
  return (
    <details>
      <summary>Columns</summary>
      <fieldset className="choices">
        <legend>Shown columns</legend>
        {COLUMNS.filter(({ key }) => key !== 'name').map(({ key, label }) => (
          <label key={key}>
            <input
              type="checkbox"
              aria-label={`Show ${String(label)}`}
              checked={chosen.includes(key)}
              onChange={() => toggle(key)}
            />{' '}
            {label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
