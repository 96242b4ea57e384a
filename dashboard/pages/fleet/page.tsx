import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Node } from '../../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../../api/queries.ts';
import { useMay } from '../../app/session.ts';
import { ActButton } from '../../parts/act-button.tsx';
import { formatCount, formatDuration, plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';
import { Status } from '../../parts/status.tsx';
import { TimeAgo } from '../../parts/time.tsx';
import { Facts } from '../run/head.tsx';
import { HeatMap } from './heat-map.tsx';
import { PlanSection } from './plan.tsx';
import { TakeoverHistory } from './takeovers.tsx';

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

/** Nodes with their tags, partitions and health; pools and what they wait for. */
export function FleetPage() {
  const nodes = useQuery({
    queryKey: ['nodes'],
    queryFn: () => api.nodes.list(),
    refetchInterval: listRefreshMs,
  });
  const status = useQuery({
    queryKey: ['cluster'],
    queryFn: () => api.cluster.status(),
    refetchInterval: listRefreshMs,
  });
  const list = nodes.data?.nodes ?? [];
  return (
    <>
      <PageHead title="Fleet" note={nodes.data === undefined ? undefined : `${list.length} known`} />
      <ReadState of={nodes} what="nodes" />
      {list.length > 0 && <Nodes nodes={list} />}
      {list.length > 0 && <PlanSection nodes={list} />}
      <ReadState of={status} what="the node" />
      {status.data !== undefined && (
        <>
          <h2>Pools</h2>
          <PlainTable
            label="Pools"
            rows={status.data.pools}
            rowKey={({ pool }) => pool}
            columns={[
              ['Pool', ({ pool }) => plainLine(pool)],
              ['Tags', ({ tags }) => (tags.length === 0 ? 'none needed' : plainLine(tags.join(', ')))],
              [
                'Partitions served',
                ({ served, partitions }) => (
                  <>
                    <meter
                      min={0}
                      max={Math.max(1, partitions)}
                      value={served}
                      aria-label={`${served} of ${partitions} partitions served`}
                    />{' '}
                    <span className="figures">
                      {served} of {partitions}
                    </span>
                  </>
                ),
              ],
              [
                'Waits for',
                ({ waiting_for: waits }) =>
                  waits === null ? '' : <Status status="waiting" label={plainLine(waits.reason)} />,
              ],
            ]}
          />
          <HeatMap />
          <TakeoverHistory />
          <h2>The node that answers</h2>
          <ThisNode node={status.data.node} />
        </>
      )}
    </>
  );
}

function Nodes({ nodes }: { readonly nodes: readonly Node[] }) {
  const may = useMay();
  return (
    <PlainTable
      label="Nodes"
      rows={nodes}
      rowKey={({ node_id }) => node_id}
      columns={[
        ['Node', ({ node_id }) => <Id id={node_id} length={16} />],
        ['Status', ({ status }) => <Status status={status} />],
        ['Role', ({ role, member }) => `${role?.toLowerCase() ?? ''}${member ? '' : ' outside of the fleet'}`],
        ['Tags', ({ tags }) => plainLine(tags.join(', '))],
        ['Partitions', ({ partitions }) => <span className="figures">{formatCount(sum(partitions))}</span>],
        ['Version', ({ version }) => plainLine(version ?? '')],
        ['Started', ({ started_at }) => <TimeAgo at={started_at} />],
        ['Last heartbeat', ({ last_heartbeat_at }) => <TimeAgo at={last_heartbeat_at} />],
        [
          'Runs',
          ({ node_id }) => (
            <Link to="/runs" search={{ node: node_id }}>
              see
            </Link>
          ),
        ],
        [
          '',
          ({ node_id, status }) =>
            may('operate', 'cluster') && status === 'ACTIVE' ? (
              <ActButton
                label="Drain"
                ask={`The node hands its partitions over and takes no new work. It does not come back by itself.`}
                isDanger
                act={() => api.nodes.drain({ id: node_id })}
              />
            ) : null,
        ],
      ]}
    />
  );
}

type LocalNode = Awaited<ReturnType<typeof api.cluster.status>>['node'];

function ThisNode({ node }: { readonly node: LocalNode }) {
  return (
    <Facts
      facts={[
        ['Node', <Id key="id" id={node.node_id} length={16} />],
        ['Ready', node.ready ? 'yes' : 'no'],
        ['Actors in memory', formatCount(node.residents)],
        ['Running effects', formatCount(node.running_effects)],
        ['Unread partitions', formatCount(node.unread_partitions)],
        ['Postponed messages', formatCount(node.postponed_messages)],
        ['Fenced commits', formatCount(node.fenced_commits)],
        ['Lease age', formatDuration(node.lease_age_ms)],
      ]}
    />
  );
}
