import { useMutation, useQuery } from '@tanstack/react-query';
import { checkOperationChain, type OperationChains } from '../api/operation-chains.ts';
import { api } from '../api/queries.ts';
import { useFilters } from '../app/use-filters.ts';
import { SelectFilter, TextFilter } from '../parts/filters.tsx';
import { formatCount, plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Empty, Failure, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

const MOST = 200;
const REFRESH_MS = 5_000;
const OUTCOMES = ['ok', 'denied', 'failed', 'begun'] as const;

/** Operations and denials of callers, and the chains that record them. */
export function AuditPage() {
  const [{ subject = '', operation = '', outcome = '' }, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['audit', subject, operation, outcome],
    queryFn: () =>
      api.audit.list({
        subject: subject || undefined,
        operation: operation || undefined,
        outcome: OUTCOMES.find((one) => one === outcome),
        limit: MOST,
      }),
    refetchInterval: REFRESH_MS,
  });
  const entries = read.data?.entries ?? [];
  return (
    <>
      <PageHead
        title="Audit"
        note={read.data === undefined ? undefined : `the newest ${formatCount(entries.length)}`}
      />
      <div className="filters">
        <SelectFilter
          label="Outcome"
          value={outcome}
          options={[['', 'any'], ...OUTCOMES.map((one) => [one, one] as const)]}
          change={(value) => setFilters({ outcome: value })}
        />
        <TextFilter
          label="Operation"
          value={operation}
          placeholder="agents.remove"
          change={(value) => setFilters({ operation: value }, true)}
        />
        <TextFilter
          label="Who"
          value={subject}
          placeholder="exact"
          change={(value) => setFilters({ subject: value }, true)}
        />
      </div>
      <ReadState of={read} what="the audit" />
      {read.data !== undefined && entries.length === 0 && (
        <Empty title="No entry fits these filters.">
          Each operation that changes something, and each denial, is an entry.
        </Empty>
      )}
      {entries.length > 0 && (
        <PlainTable
          label="Audit"
          rows={entries}
          rowKey={({ node, sequence }) => `${node} ${sequence}`}
          columns={[
            ['When', ({ at }) => <TimeAgo at={at} />],
            ['Operation', ({ operation: of, count: times }) => `${plainLine(of)}${times > 1 ? ` ×${times}` : ''}`],
            ['Outcome', ({ outcome: how }) => <Status status={how === 'ok' ? 'done' : how} label={how} />],
            ['Who', ({ subject: who, caller }) => plainLine(who ?? caller ?? '')],
            ['Target', ({ target }) => plainLine(target ?? '')],
            ['Error or reason', ({ error, reason }) => plainLine(error ?? reason ?? '')],
            ['Node', ({ node }) => <Id id={node} />],
          ]}
        />
      )}
      <Chains />
    </>
  );
}

function Chains() {
  const read = useQuery({ queryKey: ['audit-chains'], queryFn: () => api.audit.listChains() });
  if (read.data === undefined) return <ReadState of={read} what="the chains" />;
  const { chains } = read.data;
  if (chains.length === 0) return null;
  return (
    <>
      <h2>Chains</h2>
      <p className="quiet">
        Each node writes the entries of a tenant into a chain: a record holds the hash of the one before, and nodes sign
        what they saw of each other’s chains. This page checks them itself.
      </p>
      <PlainTable
        label="Chains"
        rows={chains}
        rowKey={({ node }) => node}
        columns={[
          ['Node', ({ node }) => <Id id={node} length={16} />],
          [
            'Records',
            ({ first, last }) => <span className="figures">{`${formatCount(first)} to ${formatCount(last)}`}</span>,
          ],
          ['Check', ({ node }) => <Check chains={read.data} node={node} refresh={() => read.refetch()} />],
        ]}
      />
    </>
  );
}

interface CheckProps {
  readonly chains: OperationChains;
  readonly node: string;
  /** Statements refer to the time at which the chains are read. */
  readonly refresh: () => Promise<{ readonly data: OperationChains | undefined }>;
}

function Check({ chains, node, refresh }: CheckProps) {
  const check = useMutation({
    mutationFn: async () => checkOperationChain((await refresh()).data ?? chains, node),
  });
  return (
    <>
      <button type="button" disabled={check.isPending} onClick={() => check.mutate()}>
        {check.isPending ? 'Checking …' : 'Check here'}
      </button>{' '}
      {check.error !== null && <Failure error={check.error} />}
      {check.data !== undefined && (
        <Status status={check.data.isWhole ? 'completed' : 'failed'} label={check.data.text} />
      )}
    </>
  );
}
