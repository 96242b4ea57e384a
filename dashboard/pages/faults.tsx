import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { ActButton } from '../parts/act-button.tsx';
import { counted, formatCount, formatDuration, plainLine } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

const REFRESH_MS = 2_000;
const MOST_LETTERS = 100;

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
      {cluster.data?.chaos === true && <Invariants />}
      {cluster.data?.chaos === true && <Faults />}
    </>
  );
}

interface Invariant {
  readonly promise: string;
  readonly holds: boolean;
  readonly now: string;
}

/** What must hold again soon after each fault, read every two seconds. */
async function invariants(): Promise<readonly Invariant[]> {
  const [{ partitions }, { node }, { dead_letters: letters }] = await Promise.all([
    api.cluster.partitions(),
    api.cluster.status(),
    api.deadLetters.list({ status: 'open', limit: MOST_LETTERS }),
  ]);
  const served = partitions.filter((one) => one.node !== null).length;
  return [
    {
      promise: 'Each partition has a node that serves it',
      holds: served === partitions.length,
      now: `${formatCount(served)} of ${formatCount(partitions.length)}`,
    },
    {
      promise: 'No messages wait unread on the node that answers',
      holds: node.unread_partitions === 0,
      now: counted(node.unread_partitions, 'partition', 'partitions'),
    },
    {
      promise: 'No message is given up',
      holds: letters.length === 0,
      now: `${counted(letters.length, 'dead letter', 'dead letters')}${letters.length < MOST_LETTERS ? '' : ' or more'}`,
    },
    {
      promise: 'The node that answers renews its lease',
      holds: node.ready,
      now: `${formatDuration(node.lease_age_ms)} ago; ${counted(node.fenced_commits, 'commit', 'commits')} refused after it was lost`,
    },
  ];
}

function Invariants() {
  const read = useQuery({ queryKey: ['invariants'], queryFn: invariants, refetchInterval: REFRESH_MS });
  return (
    <section className="card" aria-label="Invariants">
      <h2>Invariants</h2>
      <ReadState of={read} what="the invariants" />
      {read.data !== undefined && (
        <PlainTable
          label="Invariants"
          rows={read.data}
          rowKey={({ promise }) => promise}
          columns={[
            ['What must hold', ({ promise }) => promise],
            [
              'Now',
              ({ holds }) => (
                <Status status={holds ? 'completed' : 'failed'} label={holds ? 'holds' : 'does not hold'} />
              ),
            ],
            ['Figures', ({ now }) => <span className="figures">{now}</span>],
          ]}
        />
      )}
    </section>
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
