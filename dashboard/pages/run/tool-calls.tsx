import { useQuery } from '@tanstack/react-query';
import { type AuditChain, checkChain } from '../../api/audit-chain.ts';
import { api } from '../../api/queries.ts';
import { useToolChains } from '../../api/tool-calls.ts';
import { useMay } from '../../app/session.ts';
import { plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { Status } from '../../parts/status.tsx';
import { ClockTime } from '../../parts/time.tsx';

/** Tool calls of a run with the decision of the policy, from the audit chains of its sessions. */
export function ToolCalls({ executionId, isLive }: { readonly executionId: string; readonly isLive: boolean }) {
  const may = useMay();
  const read = useToolChains(executionId, isLive);
  if (!may('read', 'tools')) return <Empty title="Sessions of tools are not shown here." />;
  if (read.data === undefined) return <ReadState of={read} what="tool calls" />;
  if (read.data.length === 0) return <Empty title="This run has called no tool." />;
  return (
    <>
      {read.data.map((chain) => (
        <section key={chain.session_id} className="card" aria-label={`Session ${chain.session_id}`}>
          <header>
            <h2>
              Session <Id id={chain.session_id} />
            </h2>
            <ChainState chain={chain} />
          </header>
          <Calls chain={chain} />
        </section>
      ))}
    </>
  );
}

/** Whether the chain is intact, as checked by this page. */
function ChainState({ chain }: { readonly chain: AuditChain }) {
  const check = useQuery({
    queryKey: ['chain', chain.session_id, chain.records.length],
    queryFn: async () => checkChain(chain, (await api.jwks.get()).keys),
  });
  if (check.data === undefined) return <ReadState of={check} what="the keys" />;
  return <Status status={check.data.isWhole ? 'completed' : 'failed'} label={check.data.text} />;
}

function Calls({ chain: { records } }: { readonly chain: AuditChain }) {
  const ended = new Map(records.flatMap(({ body }) => (body.kind === 'ended' ? [[body.call, body] as const] : [])));
  return (
    <div className="table-scroll">
      <table className="plain">
        <thead>
          <tr>
            <th>Time</th>
            <th>Tool</th>
            <th>Decision</th>
            <th>Outcome</th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ sequence, at, body }) => {
            if (body.kind !== 'decided') return null;
            const end = ended.get(body.call);
            return (
              <tr key={sequence}>
                <td>
                  <ClockTime at={at} />
                </td>
                <td>
                  <code>{plainLine(body.tool)}</code>
                </td>
                <td>
                  <Status status={body.decision} />
                  {body.reason !== null && <div className="quiet">{plainLine(body.reason)}</div>}
                </td>
                <td>
                  {end !== undefined && <Status status={end.outcome} />}
                  {end?.error != null && <div className="quiet">{plainLine(end.error)}</div>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
