import { useQuery } from '@tanstack/react-query';
import { api, listRefreshMs } from './queries.ts';

/** Maximum number of runs of a trace that get names; the actors of others are shown by their ids. */
const MOST = 1_000;

const NONE: ReadonlyMap<string, string> = new Map();

/** Names of agents and workflows by the ids of their runs in a trace, read again while the trace runs. */
export function useRunNames(trace: string, status: string | undefined): ReadonlyMap<string, string> {
  const { data = NONE } = useQuery({
    queryKey: ['run-names', trace, status],
    enabled: status !== undefined,
    queryFn: async () => {
      const { runs } = await api.runs.list({ trace_id: trace, limit: MOST });
      return new Map(runs.map(({ id, name }) => [id, name]));
    },
    // An equal answer returns the same map, so that the picture is not drawn again.
    structuralSharing: (before, after) =>
      before instanceof Map && after instanceof Map && [...after].join() === [...before].join() ? before : after,
    placeholderData: (before) => before,
    refetchInterval: status === 'running' ? listRefreshMs() : false,
    retry: false,
  });
  return data;
}
