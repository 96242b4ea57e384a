import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, listRefreshMs } from './queries.ts';
import type { Run, RunFilter } from './runs.ts';

const PAGE_ROWS = 1_000;
/** Rows at the top of the list that are read again all the time. */
const HEAD_ROWS = 200;

interface RunList {
  readonly runs: readonly Run[];
  readonly isPending: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
  readonly more: () => void;
  readonly hasMore: boolean;
}

/** A list of runs, newest first: its top is live, further pages are read as the user scrolls. */
export function useRunList(filter: RunFilter): RunList {
  const pages = useInfiniteQuery({
    queryKey: ['runs', 'pages', filter],
    queryFn: ({ pageParam, signal }) =>
      api.runs.list({ ...filter, limit: PAGE_ROWS, next: pageParam === '' ? undefined : pageParam }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const head = useQuery({
    queryKey: ['runs', 'head', filter],
    queryFn: ({ signal }) => api.runs.list({ ...filter, limit: HEAD_ROWS }, { signal }),
    refetchInterval: listRefreshMs,
    gcTime: 0,
  });
  const runs = useMemo(() => merged(head.data?.runs ?? [], pages.data?.pages ?? []), [head.data, pages.data]);
  return {
    runs,
    isPending: pages.isPending,
    error: pages.error ?? head.error,
    refetch: () => Promise.all([pages.refetch(), head.refetch()]),
    more: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
    },
    hasMore: pages.hasNextPage,
  };
}

function merged(head: readonly Run[], pages: readonly { readonly runs: readonly Run[] }[]): Run[] {
  const byId = new Map(head.map((run) => [run.id, run]));
  for (const { runs } of pages) for (const run of runs) if (!byId.has(run.id)) byId.set(run.id, run);
  return [...byId.values()];
}
