import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api } from '../../api/queries.ts';
import { useMay } from '../../app/session.ts';
import { useFilters } from '../../app/use-filters.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { SelectFilter, TextFilter } from '../../parts/filters.tsx';
import { formatCount, plainLine } from '../../parts/format.ts';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Status } from '../../parts/status.tsx';
import { TimeAgo } from '../../parts/time.tsx';

interface Entry {
  readonly kind: 'agent' | 'workflow';
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly status: string;
  readonly scope: string;
  readonly description: string;
  readonly deployed_at: string;
}

async function entries(): Promise<Entry[]> {
  const [{ agents }, { workflows }] = await Promise.all([
    api.agents.list({ scope: 'visible' }),
    api.workflows.list({ scope: 'visible' }),
  ]);
  return [
    ...agents.map(({ agent_id: id, ...rest }) => ({ ...rest, kind: 'agent' as const, id })),
    ...workflows.map((workflow) => ({ ...workflow, kind: 'workflow' as const })),
  ].sort((a, b) => a.name.localeCompare(b.name));
}

/** Agents and workflows that the caller may run. */
export function CatalogPage() {
  const [{ kind = '', text = '' }, setFilters] = useFilters();
  const read = useQuery({ queryKey: ['catalog'], queryFn: entries });
  const may = useMay();
  const navigate = useNavigate();
  const wanted = text.toLowerCase();
  const rows = (read.data ?? []).filter(
    (entry) =>
      (kind === '' || entry.kind === kind) && `${entry.name} ${entry.description}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <PageHead title="Catalog" note={read.data === undefined ? undefined : formatCount(rows.length)}>
        {may('write', 'agents') && (
          <Link className="button" to="/catalog/edit" search={{ kind: 'agent' }}>
            New agent
          </Link>
        )}
        {may('write', 'workflows') && (
          <Link className="button" to="/catalog/edit" search={{ kind: 'workflow' }}>
            New workflow
          </Link>
        )}
      </PageHead>
      <div className="filters">
        <SelectFilter
          label="Kind"
          value={kind}
          options={[
            ['', 'agents and workflows'],
            ['agent', 'agents'],
            ['workflow', 'workflows'],
          ]}
          change={(value) => setFilters({ kind: value })}
        />
        <TextFilter label="Text" value={text} change={(value) => setFilters({ text: value }, true)} />
      </div>
      <ReadState of={read} what="the catalog" />
      {read.data !== undefined && rows.length === 0 && (
        <Empty title="No deployed entry fits these filters.">
          Deploy in a terminal: <code>svc agent deploy FILE</code>, <code>svc workflow deploy FILE</code>.
        </Empty>
      )}
      {rows.length > 0 && (
        <DataTable
          label="Catalog"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ id }) => id}
          open={({ kind: of, id }) => void navigate({ to: '/catalog/$kind/$id', params: { kind: of, id } })}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    key: 'name',
    label: 'Name',
    width: 'minmax(140px, 1fr)',
    cell: ({ kind, id, name, version }) => (
      <>
        <Link to="/catalog/$kind/$id" params={{ kind, id }}>
          {plainLine(name, 80)}
        </Link>{' '}
        <span className="quiet">{plainLine(version, 20)}</span>
      </>
    ),
  },
  { key: 'kind', label: 'Kind', width: '80px', cell: ({ kind }) => kind },
  { key: 'status', label: 'Status', width: '100px', cell: ({ status }) => <Status status={status} /> },
  { key: 'scope', label: 'Scope', width: '72px', wide: true, cell: ({ scope }) => scope },
  {
    key: 'description',
    label: 'Description',
    width: 'minmax(0, 2fr)',
    wide: true,
    cell: ({ description }) => plainLine(description),
  },
  {
    key: 'deployed',
    label: 'Deployed',
    width: 'max(100px, var(--time-width))',
    wide: true,
    // Built-in entries have no time of deployment.
    cell: ({ deployed_at: at }) => (Date.parse(at) === 0 ? 'with the node' : <TimeAgo at={at} />),
  },
];
