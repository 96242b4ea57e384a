import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, listRefreshMs } from '../../api/queries.ts';
import { type RunNode, treeOf } from '../../api/run-tree.ts';
import { hasEnded, type Run } from '../../api/runs.ts';
import { plainLine } from '../../parts/format.ts';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { RunStatus } from '../../parts/status.tsx';
import { Duration } from '../../parts/time.tsx';

const MOST = 1_000;

/** The runs of the trace and the children of this one; children after 10,000 deliveries are in another trace. */
async function relatives({ id, trace_id }: Run): Promise<{ readonly runs: Run[]; readonly isWhole: boolean }> {
  const [ofTrace, children] = await Promise.all([
    trace_id === null ? { runs: [] } : api.runs.list({ trace_id, limit: MOST }),
    api.runs.list({ parent: id, limit: MOST }),
  ]);
  const byId = new Map([...ofTrace.runs, ...children.runs].map((run) => [run.id, run]));
  return { runs: [...byId.values()], isWhole: !('next' in ofTrace) && children.next === undefined };
}

/** The tree of a run that the list may not have yet. */
export function ListedTree({ of }: { readonly of: UseQueryResult<Run | null> }) {
  if (of.data === undefined) return <ReadState of={of} what="the run" />;
  if (of.data === null) return <Empty title="The list does not have the run yet." />;
  return <RunTree run={of.data} />;
}

/** The run among its parents, children and their children, each with its status. */
function RunTree({ run }: { readonly run: Run }) {
  const read = useQuery({
    queryKey: ['run-tree', run.id, run.trace_id],
    queryFn: () => relatives(run),
    refetchInterval: ({ state }) => (state.data?.runs.every(hasEnded) === true ? false : listRefreshMs()),
  });
  if (read.data === undefined) return <ReadState of={read} what="parents and children" />;
  const roots = treeOf([run, ...read.data.runs.filter(({ id }) => id !== run.id)]);
  return (
    <section aria-label="Parents and children">
      {read.data.runs.length < 2 && <Empty title="This run has neither a parent nor children." />}
      <Branch nodes={roots} here={run.id} />
      {!read.data.isWhole && <p className="quiet">Only the newest {MOST} runs are shown.</p>}
    </section>
  );
}

function Branch({ nodes, here }: { readonly nodes: readonly RunNode[]; readonly here: string }) {
  return (
    <ul className="run-tree">
      {nodes.map(({ key, run, label, children }) => (
        <li key={key}>
          {run === null ? (
            <span className="quiet">{plainLine(label, 80)}</span>
          ) : (
            <span className="run-tree-row">
              <RunStatus status={run.status} outcome={run.outcome} />{' '}
              {run.id === here ? (
                <b aria-current="page">{plainLine(label, 80)}</b>
              ) : (
                <Link to="/runs/$kind/$id" params={{ kind: run.kind, id: run.id }}>
                  {plainLine(label, 80)}
                </Link>
              )}{' '}
              <span className="quiet figures">
                <Duration from={run.started_at} to={run.ended_at} />
              </span>
              {run.error_code !== null && <span className="quiet"> {plainLine(run.error_code, 60)}</span>}
            </span>
          )}
          {children.length > 0 && <Branch nodes={children} here={here} />}
        </li>
      ))}
    </ul>
  );
}
