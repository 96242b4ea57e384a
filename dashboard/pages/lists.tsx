import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api } from '../api/queries.ts';
import { useMay, useSession } from '../app/session.ts';
import { ActButton } from '../parts/act-button.tsx';
import { countOf, formatBytes, formatCount, plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';
import { RunLink } from './run/head.tsx';

const MOST = 1_000;
const REFRESH_MS = 5_000;

/** The first rows of a list, and whether there are more. */
interface ListPart<Row> {
  readonly rows: readonly Row[];
  readonly isCut: boolean;
}

const partOf = <Row,>(rows: readonly Row[], next: string | undefined): ListPart<Row> => ({
  rows,
  isCut: next !== undefined,
});

interface ListPageProps<Row> {
  readonly title: string;
  readonly none: ReactNode;
  readonly read: () => Promise<ListPart<Row>>;
  readonly rowKey: (row: Row) => string;
  readonly columns: readonly (readonly [label: string, cell: (row: Row) => ReactNode])[];
}

/** A page that is one table. */
function ListPage<Row>({ title, none, read, rowKey, columns }: ListPageProps<Row>) {
  const part = useQuery({ queryKey: ['list', title], queryFn: read, refetchInterval: REFRESH_MS });
  const { rows, isCut } = part.data ?? { rows: null, isCut: false };
  return (
    <>
      <PageHead title={title} note={rows === null ? undefined : countOf(rows.length, isCut)} />
      <ReadState of={part} what={title.toLowerCase()} />
      {rows?.length === 0 && <Empty title={`There is nothing here.`}>{none}</Empty>}
      {rows !== null && rows.length > 0 && <PlainTable label={title} columns={columns} rows={rows} rowKey={rowKey} />}
    </>
  );
}

export const StimuliPage = () => (
  <ListPage
    title="Stimuli"
    none="Events from outside appear here: POST /v1/stimuli, or a signed webhook."
    read={async () => {
      const page = await api.stimuli.list({ limit: MOST });
      return partOf(page.stimuli, page.next_page_token);
    }}
    rowKey={({ id }) => id}
    columns={[
      ['Received', ({ received_at }) => <TimeAgo at={received_at} />],
      ['Source', ({ source }) => plainLine(source)],
      ['Status', ({ status }) => <Status status={status} />],
      ['Run', ({ workflow_execution_id: id }) => (id === null ? '' : <RunLink kind="workflow" id={id} />)],
      ['Why refused', ({ reason }) => plainLine(reason ?? '')],
      ['Id', ({ id }) => <Id id={id} />],
    ]}
  />
);

export const PatternsPage = () => (
  <ListPage
    title="Learned patterns"
    none="An error that an agent overcame is kept here with what solved it."
    read={async () => {
      const page = await api.patterns.list({ limit: 100 });
      return partOf(page.patterns, page.next_page_token);
    }}
    rowKey={({ pattern_id }) => pattern_id}
    columns={[
      ['Error', ({ error_type, error_signature }) => `${plainLine(error_type, 60)}: ${plainLine(error_signature)}`],
      ['What solved it', ({ solution_approach }) => plainLine(solution_approach)],
      ['Score', ({ success_score }) => <span className="figures">{success_score.toFixed(2)}</span>],
      ['Seen', ({ frequency }) => <span className="figures">{formatCount(frequency)}</span>],
    ]}
  />
);

export const VolumesPage = () => (
  <ListPage
    title="Volumes"
    none="Workspaces of workflow runs and volumes of your own appear here."
    read={async () => {
      const page = await api.volumes.list({ limit: MOST });
      return partOf(page.volumes, page.next_page_token);
    }}
    rowKey={({ id }) => id}
    columns={[
      [
        'Name',
        ({ id, name }) => (
          <Link to="/volumes/$id" params={{ id }}>
            {plainLine(name, 120)}
          </Link>
        ),
      ],
      ['Class', ({ storage_class }) => storage_class],
      [
        'Used',
        ({ used_bytes, size_limit_bytes }) => (
          <span className="figures">
            {formatBytes(used_bytes)}
            {size_limit_bytes !== null && ` of ${formatBytes(size_limit_bytes)}`}
          </span>
        ),
      ],
      ['Run', ({ workflow_execution_id: id }) => (id === null ? '' : <RunLink kind="workflow" id={id} />)],
      ['Created', ({ created_at }) => <TimeAgo at={created_at} />],
      ['Expires', ({ expires_at }) => <TimeAgo at={expires_at} />],
    ]}
  />
);

export const SecretsPage = () => (
  <ListPage
    title="Secrets"
    none={
      <>
        Values are never shown. Set one in a terminal: <code>svc secret put PATH</code>.
      </>
    }
    read={async () => {
      const page = await api.secrets.list({ limit: MOST });
      return partOf(page.secrets, page.next_page_token);
    }}
    rowKey={({ path }) => path}
    columns={[
      ['Path', ({ path }) => plainLine(path)],
      ['Reference', ({ reference }) => <code>{plainLine(reference)}</code>],
      ['Version', ({ version }) => version],
      ['Changed', ({ updated_at }) => <TimeAgo at={updated_at} />],
      ['By', ({ updated_by }) => plainLine(updated_by ?? '')],
    ]}
  />
);

export const KeysPage = () => (
  <ListPage
    title="API keys"
    none={
      <>
        Make one in a terminal: <code>svc key create NAME</code>.
      </>
    }
    read={async () => {
      const page = await api.apiKeys.list({ limit: MOST });
      return partOf(page.keys, page.next_page_token);
    }}
    rowKey={({ id }) => id}
    columns={[
      ['Name', ({ name }) => plainLine(name)],
      ['Status', ({ status }) => <Status status={status} />],
      ['Owner', ({ owner }) => plainLine(owner.subject)],
      ['Scopes', ({ scopes }) => plainLine(scopes.join(' '))],
      ['Last used', ({ last_used_at }) => <TimeAgo at={last_used_at} />],
      ['Expires', ({ expires_at }) => <TimeAgo at={expires_at} />],
      ['', ({ id, status }) => (status === 'active' ? <RevokeKey id={id} /> : null)],
    ]}
  />
);

/** Callers that may read keys may revoke them, unless the key of the page does not allow it. */
function RevokeKey({ id }: { readonly id: string }) {
  const { me } = useSession();
  if (me?.scopes.includes('keys:write') !== true) return null;
  return (
    <ActButton
      label="Revoke"
      isDanger
      ask="Calls with this key are refused within a second, and so are keys that it made."
      act={() => api.apiKeys.revoke({ id })}
    />
  );
}

export function LimitsPage() {
  const may = useMay();
  const read = useQuery({ queryKey: ['usage'], queryFn: () => api.rateLimits.ownUsage(), refetchInterval: REFRESH_MS });
  return (
    <>
      <PageHead title="Limits" note={read.data === undefined ? undefined : plainLine(read.data.subject)} />
      <ReadState of={read} what="your usage" />
      {read.data !== undefined && (
        <>
          <p>
            Runs at once: {read.data.concurrent_executions.used}
            {read.data.concurrent_executions.limit !== null && ` of ${read.data.concurrent_executions.limit}`}.
          </p>
          {read.data.buckets.length === 0 ? (
            <Empty title="No rate limit applies to you." />
          ) : (
            <PlainTable
              label="Usage of your limits"
              rows={read.data.buckets}
              rowKey={({ name, window }) => `${name} ${window}`}
              columns={[
                ['Limit', ({ name, window }) => `${plainLine(name.replaceAll('_', ' '))} a ${window}`],
                [
                  'Used',
                  ({ used, limit }) => (
                    <>
                      <meter min={0} max={limit} value={used} high={limit * 0.9} aria-label={`${used} of ${limit}`} />{' '}
                      <span className="figures">
                        {formatCount(used)} of {formatCount(limit)}
                      </span>
                    </>
                  ),
                ],
                ['Resets', ({ resets_at }) => <TimeAgo at={resets_at} />],
              ]}
            />
          )}
        </>
      )}
      {may('inspect', 'limits') && <Overrides />}
    </>
  );
}

function Overrides() {
  const read = useQuery({ queryKey: ['overrides'], queryFn: () => api.rateLimits.listOverrides({ limit: MOST }) });
  if (read.data === undefined) return <ReadState of={read} what="rates set at run time" />;
  if (read.data.overrides.length === 0) return null;
  return (
    <>
      <h2>Rates set at run time</h2>
      <PlainTable
        label="Rates set at run time"
        rows={read.data.overrides}
        rowKey={({ tenant, subject }) => `${tenant} ${subject}`}
        columns={[
          ['Tenant', ({ tenant }) => plainLine(tenant)],
          ['User', ({ subject }) => plainLine(subject ?? 'all users')],
          ['Rates', ({ rates }) => <code>{plainLine(JSON.stringify(rates))}</code>],
          ['Set', ({ updated_at }) => <TimeAgo at={updated_at} />],
          ['By', ({ updated_by }) => plainLine(updated_by)],
        ]}
      />
    </>
  );
}
