import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { ActButton } from '../parts/act-button.tsx';
import { ActorLink } from '../parts/actor-link.tsx';
import { counted, formatCount, formatDuration, plainLine, shortNode } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

const REFRESH_MS = 2_000;
const MOST_LETTERS = 100;

/** Fault injection, where the settings allow it. */
export function FaultsPage() {
  const cluster = useQuery({ queryKey: ['cluster'], queryFn: () => api.cluster.status() });
  return (
    <>
      <PageHead title="Faults" />
      {cluster.data === undefined && <ReadState of={cluster} what="the settings" />}
      {cluster.data?.chaos === false && (
        <Empty title="Fault injection is not available here.">
          A test fleet allows it with <code>spec.chaos.enabled: true</code>.
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

/** Conditions that must hold again soon after each fault, read every two seconds. */
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
  const read = useQuery({
    queryKey: ['faults'],
    queryFn: () => api.faults.list({ limit: 200 }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      {may('break', 'cluster') && <Inject />}
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
            ['Target', ({ target }) => <Target target={target} />],
            ['State', ({ state }) => <Status status={state === 'requested' ? 'pending' : state} />],
            ['By', ({ by }) => plainLine(by)],
            ['Why refused', ({ reason }) => plainLine(reason ?? '')],
          ]}
        />
      )}
    </>
  );
}

/** An actor is a link to its page; a node has a short name. */
const Target = ({ target }: { readonly target: string }) =>
  target.split('/').length === 3 ? <ActorLink address={target} length={8} /> : shortNode(target);

type Fault = Parameters<typeof api.faults.inject>[0]['body'];

const FREEZE_MS = 5_000;

/** Faults of an actor, by its address, and of a node. */
function Inject() {
  const [address, setAddress] = useState('');
  const [chosen, setChosen] = useState('');
  const nodes = useQuery({ queryKey: ['nodes'], queryFn: () => api.nodes.list() });
  const members = (nodes.data?.nodes ?? []).filter(({ member }) => member);
  const node = chosen || (members[0]?.node_id ?? '');
  const queries = useQueryClient();
  const inject = async (body: Fault): Promise<void> => {
    await api.faults.inject({ body });
    await queries.invalidateQueries({ queryKey: ['faults'] });
  };
  return (
    <div className="columns">
      <section className="card" aria-label="Faults of an actor">
        <label className="field">
          Address of an actor: kind/tenant/id
          <input value={address} onChange={(event) => setAddress(event.target.value)} />
        </label>
        <div className="actions">
          <ActButton label="Kill the actor" isDanger act={() => inject({ kind: 'kill-actor', address })} />
          <ActButton
            label="Drop its partition"
            isDanger
            ask="The node that serves it drops the lease of its partition without a handover, as if it had crashed. Another node takes the partition over, or this one again."
            act={() => inject({ kind: 'kill-owner', address })}
          />
        </div>
      </section>
      <section className="card" aria-label="Faults of a node">
        <label className="field">
          Node
          <select value={node} onChange={(event) => setChosen(event.target.value)}>
            {members.map(({ node_id }) => (
              <option key={node_id} value={node_id}>
                {shortNode(node_id)}
              </option>
            ))}
          </select>
        </label>
        <div className="actions">
          <ActButton
            label={`Freeze it for ${formatDuration(FREEZE_MS)}`}
            isDanger
            ask="It answers nothing for that long. What it does after it has lost its leases is refused."
            act={() => inject({ kind: 'freeze-node', node, ms: FREEZE_MS })}
          />
          <ActButton
            label="Kill the node"
            isDanger
            ask="Its process ends at once, and does not come back by itself; others take its partitions over."
            act={() => inject({ kind: 'kill-node', node })}
          />
        </div>
      </section>
    </div>
  );
}
