import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { listRefreshMs } from './queries.ts';

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next?: string | null | undefined;
}

interface LiveListParts<Row> {
  /** Cache key of the list. */
  readonly name: string;
  readonly filter: object;
  readonly pageRows: number;
  /** Rows at the top of the list that are refreshed. */
  readonly headRows: number;
  readonly read: (asked: {
    readonly limit: number;
    readonly next?: string | undefined;
    readonly signal: AbortSignal;
  }) => Promise<Page<Row>>;
  /** Pass a function of the module: a new function merges the rows again. */
  readonly keyOf: (row: Row) => string;
}

/** A list with the newest rows first: its top is live, further pages are read as the user scrolls. */
export function useLiveList<Row>({ name, filter, pageRows, headRows, read, keyOf }: LiveListParts<Row>) {
  const pages = useInfiniteQuery({
    queryKey: [name, 'pages', filter],
    queryFn: ({ pageParam, signal }) =>
      read({ limit: pageRows, next: pageParam === '' ? undefined : pageParam, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const head = useQuery({
    queryKey: [name, 'head', filter],
    queryFn: ({ signal }) => read({ limit: headRows, signal }),
    refetchInterval: listRefreshMs,
    gcTime: 0,
  });
  const rows = useMemo(() => {
    const byKey = new Map((head.data?.rows ?? []).map((row) => [keyOf(row), row]));
    for (const page of pages.data?.pages ?? [])
      for (const row of page.rows) if (!byKey.has(keyOf(row))) byKey.set(keyOf(row), row);
    return [...byKey.values()];
  }, [head.data, pages.data, keyOf]);
  const more = (): void => {
    if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
  };
  return { rows, pages, head, more };
}
