import { useInfiniteQuery } from '@tanstack/react-query';
import { api, listRefreshMs } from '../../api/queries.ts';
import { formatCount, plainLine, shortNode } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';
import { TimeAgo } from '../../parts/time.tsx';

type Takeover = Awaited<ReturnType<typeof api.cluster.takeovers>>['takeovers'][number];

const PAGE = 20;

/** Takeovers of partitions: node, time and reason. */
export function TakeoverHistory() {
  const read = useInfiniteQuery({
    queryKey: ['takeovers'],
    queryFn: ({ pageParam }) =>
      api.cluster.takeovers({ limit: PAGE, page_token: pageParam === '' ? undefined : pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ next_page_token }) => next_page_token,
    refetchInterval: listRefreshMs,
  });
  const rows = read.data?.pages.flatMap(({ takeovers }) => takeovers) ?? [];
  return (
    <>
      <h2>Takeovers</h2>
      <ReadState of={read} what="takeovers" />
      {rows.length === 0 && read.data !== undefined && <p className="quiet">No node has taken over a partition yet.</p>}
      {rows.length > 0 && (
        <PlainTable
          label="Takeovers"
          rows={rows}
          rowKey={({ id }) => id}
          columns={[
            ['When', ({ at }) => <TimeAgo at={at} />],
            ['Node', ({ node }) => <Id id={node} length={16} />],
            ['From', ({ from }) => (from === null ? '' : <Id id={from} length={16} />)],
            ['Pool', ({ pool }) => plainLine(pool)],
            [
              'Partitions',
              ({ partitions, numbers }) => (
                <span className="figures" title={numbers.join(', ')}>
                  {formatCount(partitions)}
                </span>
              ),
            ],
            ['Why', whyText],
          ]}
        />
      )}
      {read.hasNextPage && (
        <button type="button" disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
          Older takeovers
        </button>
      )}
    </>
  );
}

function whyText({ reason, from, because }: Takeover): string {
  const node = shortNode(from ?? '');
  switch (reason) {
    case 'new_pool':
      return 'No node served them: the pool is new.';
    case 'not_served':
      return 'No node served them.';
    case 'died':
      return `${node} has died.`;
    case 'left':
      return `${node} has left.`;
    case 'drained':
      return `${node} drains.`;
    case 'not_eligible':
      return `${node} has no longer the tags or role.`;
    case 'rebalanced':
      return `New shares, since these nodes came, went or changed: ${because.map(shortNode).join(', ')}.`;
    case 'lease_lost':
      return 'It lost the lease and took it again.';
  }
}
