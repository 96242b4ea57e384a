import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useMay } from '../app/session.ts';
import type { AuditChain } from './audit-chain.ts';
import { api, listRefreshMs } from './queries.ts';
import type { Span } from './timeline.ts';

/** The audit chains of a run's tool sessions. */
export function useToolChains(executionId: string, isLive: boolean): UseQueryResult<AuditChain[]> {
  const may = useMay();
  return useQuery({
    enabled: may('read', 'tools'),
    queryKey: ['tool-calls', executionId],
    queryFn: async () => {
      const { sessions } = await api.sealSessions.list({ execution_id: executionId });
      return Promise.all(sessions.map(({ session_id: id }) => api.sealSessions.audit({ id })));
    },
    refetchInterval: isLive ? listRefreshMs : false,
  });
}

/** Tool calls as spans: from the decision of the policy to the end of the call. */
export function toolSpansOf(chains: readonly AuditChain[]): Span[] {
  return chains.flatMap(({ session_id, records }) => {
    const ends = new Map(
      records.flatMap(({ at, body }) => (body.kind === 'ended' ? [[body.call, { at, body }] as const] : [])),
    );
    return records.flatMap(({ at, body, sequence }): Span[] => {
      if (body.kind !== 'decided') return [];
      const end = ends.get(body.call);
      const isDenied = body.decision !== 'allowed';
      return [
        {
          key: `tool ${session_id} ${sequence}`,
          label: body.tool,
          kind: 'tool',
          from: Date.parse(at),
          to: end === undefined ? (isDenied ? Date.parse(at) : null) : Date.parse(end.at),
          status:
            isDenied || (end !== undefined && end.body.outcome !== 'succeeded')
              ? 'failed'
              : end
                ? 'completed'
                : 'running',
          detail: isDenied ? `${body.decision}: ${body.reason ?? ''}` : (end?.body.error ?? end?.body.outcome ?? null),
        },
      ];
    });
  });
}
