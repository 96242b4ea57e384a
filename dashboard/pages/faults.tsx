import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { ActButton } from '../parts/act-button.tsx';
import { plainLine } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

const REFRESH_MS = 2_000;

/** Faults made on purpose, where the settings allow them. */
export function FaultsPage() {
  const cluster = useQuery({ queryKey: ['cluster'], queryFn: () => api.cluster.status() });
  return (
    <>
      <PageHead title="Faults" />
      {cluster.data === undefined && <ReadState of={cluster} what="the settings" />}
      {cluster.data?.chaos === false && (
        <Empty title="Faults cannot be made here.">
          A test fleet allows them with <code>spec.chaos.enabled: true</code>.
        </Empty>
      )}
      {cluster.data?.chaos === true && <Faults />}
    </>
  );
}

function Faults() {
  const may = useMay();
  const [address, setAddress] = useState('');
  const queries = useQueryClient();
  const read = useQuery({
    queryKey: ['faults'],
    queryFn: () => api.faults.list({ limit: 200 }),
    refetchInterval: REFRESH_MS,
  });
  const inject = async (kind: 'kill-actor' | 'kill-owner'): Promise<void> => {
    await api.faults.inject({ body: { kind, address } });
    await queries.invalidateQueries({ queryKey: ['faults'] });
  };
  return (
    <>
      {may('break', 'cluster') && (
        <div className="filters">
          <label className="field">
            Address of an actor: kind/tenant/id
            <input value={address} size={60} onChange={(event) => setAddress(event.target.value)} />
          </label>
          <ActButton label="Kill the actor" isDanger act={() => inject('kill-actor')} />
          <ActButton
            label="Kill the node that owns it"
            isDanger
            ask="The process of that node ends at once; others take its partitions over."
            act={() => inject('kill-owner')}
          />
        </div>
      )}
      {read.data === undefined ? (
        <ReadState of={read} what="faults" />
      ) : (
        <PlainTable
          label="Faults"
          rows={read.data.faults}
          rowKey={({ id }) => id}
          columns={[
            ['When', ({ at }) => <TimeAgo at={at} />],
            ['Kind', ({ kind }) => kind],
            ['Target', ({ target }) => plainLine(target)],
            ['State', ({ state }) => <Status status={state === 'requested' ? 'pending' : state} />],
            ['By', ({ by }) => plainLine(by)],
            ['Why refused', ({ reason }) => plainLine(reason ?? '')],
          ]}
        />
      )}
    </>
  );
}
