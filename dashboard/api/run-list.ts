import { useQuery } from '@tanstack/react-query';
import { useLiveList } from './live-list.ts';
import { api } from './queries.ts';
import { hasEnded, listedRun, type Run, type RunFilter } from './runs.ts';

const PAGE_ROWS = 1_000;
const HEAD_ROWS = 200;

interface RunList {
  readonly runs: readonly Run[];
  readonly isPending: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
  readonly more: () => void;
  readonly hasMore: boolean;
}

const keyOf = ({ id }: Run): string => id;

/** Runs of agents and workflows, newest first. */
export function useRunList(filter: RunFilter, tenant = ''): RunList {
  const { rows, pages, head, more } = useLiveList<Run>({
    name: 'runs',
    // Each tenant has its own list.
    filter: { ...filter, tenant },
    pageRows: PAGE_ROWS,
    headRows: HEAD_ROWS,
    async read({ limit, next, signal }) {
      const page = await api.runs.list({ ...filter, limit, next }, { signal });
      return { rows: page.runs, next: page.next };
    },
    keyOf,
  });
  return {
    runs: rows,
    isPending: pages.isPending,
    error: pages.error ?? head.error,
    refetch: () => Promise.all([pages.refetch(), head.refetch()]),
    more,
    hasMore: pages.hasNextPage,
  };
}

const UNLISTED_MS = 1_000;

interface Listing {
  /** Whether the run has ended, by another answer: the list has its end and outcome a moment later. */
  readonly isOver: boolean;
  /** False for an actor that is no run. */
  readonly isRun?: boolean;
}

/** One run in the form of the list, which may have it only a moment after its start; null until then. */
export const useListedRun = (id: string, { isOver, isRun = true }: Listing) =>
  useQuery({
    queryKey: ['run', id],
    queryFn: () => listedRun(id),
    enabled: isRun,
    retry: false,
    refetchInterval: ({ state: { data } }) =>
      data === null || (isOver && data !== undefined && !hasEnded(data)) ? UNLISTED_MS : false,
  });
