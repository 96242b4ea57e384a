import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { api, listRefreshMs } from '../../api/queries.ts';
import { useRunEvents } from '../../api/run-events.ts';
import { useListedRun } from '../../api/run-list.ts';
import { useTraceSpans } from '../../api/run-trace.ts';
import { hasEnded } from '../../api/runs.ts';
import { inOrder, spansOf } from '../../api/timeline.ts';
import { useFilters } from '../../app/use-filters.ts';
import { formatCount, plainLine } from '../../parts/format.ts';
import { LongJson } from '../../parts/long-text.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Duration } from '../../parts/time.tsx';
import { ApprovalAnswer } from '../approval-answer.tsx';
import { Blackboard } from './blackboard.tsx';
import { EventLog } from './event-log.tsx';
import { DefinitionLink, Facts, NoRun, RunHead } from './head.tsx';
import { Judges } from './judges.tsx';
import { Timeline } from './timeline.tsx';
import { ListedTree } from './tree.tsx';
import { Why } from './why.tsx';

const WayGraph = lazy(() => import('./way.tsx').then(({ RunWay }) => ({ default: RunWay })));

const TABS = [
  ['timeline', 'Timeline'],
  ['graph', 'Graph'],
  ['blackboard', 'Blackboard'],
  ['judges', 'Judges'],
  ['output', 'Input and output'],
  ['tree', 'Parents and children'],
  ['events', 'Events'],
] as const;

const PAGE_RUNS = 1_000;
/** How often the usage of an ended run is read while the list lacks one of its agents' runs, and how many times: it may have been removed. */
const LATE_READ_MS = 1_000;
const MOST_LATE_READS = 60;

/** Total usage of the agents of a workflow run. */
async function usageOf(id: string) {
  const sum = { runs: 0, input: 0, output: 0, cost: 0, isFinal: true };
  for (let next: string | undefined; ; ) {
    const page = await api.executions.list({ workflow_execution_id: id, limit: PAGE_RUNS, page_token: next });
    for (const { status, usage } of page.executions) {
      sum.runs += 1;
      sum.input += usage.input_tokens;
      sum.output += usage.output_tokens;
      sum.cost += usage.cost;
      sum.isFinal &&= hasEnded({ status });
    }
    next = page.next_page_token;
    if (next === undefined) return sum;
  }
}

/** A run of a workflow: first the reason, then its path through the states. */
export function WorkflowRunPage({ id }: { readonly id: string }) {
  const read = useQuery({
    queryKey: ['workflow-execution', id],
    queryFn: () => api.workflowExecutions.get({ id }),
    refetchInterval: ({ state }) => (state.data !== undefined && hasEnded(state.data) ? false : listRefreshMs()),
  });
  const listed = useListedRun(id, { isOver: read.data !== undefined && hasEnded(read.data) });
  const log = useRunEvents('workflow', id);
  const spans = useMemo(() => spansOf(log.events), [log.events]);
  const [{ tab = '' }] = useFilters();
  const run = read.data;
  const isLive = run !== undefined && !hasEnded(run);
  const trace = useTraceSpans({ kind: 'workflow', id, trace: listed.data?.trace_id ?? null, isLive });
  const all = useMemo(() => inOrder(spans, trace), [spans, trace]);
  // The list lags behind the events, so the usage is read until the list has all runs that the events name.
  const namedRuns = spans.filter(({ child }) => child?.kind === 'execution').length;
  const usage = useQuery({
    // Once more after the end of the run, since its last agents used tokens after the last read.
    queryKey: ['usage-of', id, isLive],
    queryFn: () => usageOf(id),
    enabled: run !== undefined,
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
    refetchInterval({ state: { data, dataUpdateCount } }) {
      const isWhole = data?.isFinal === true && data.runs >= namedRuns;
      if (isLive) return listRefreshMs();
      return !isWhole && dataUpdateCount < MOST_LATE_READS ? LATE_READ_MS : false;
    },
  });
  if (run === undefined) return <NoRun of={read} id={id} />;
  const approvalId = run.waiting_for?.approval_id;
  return (
    <>
      <RunHead kind="workflow" id={id} status={run.status} listed={listed.data ?? null} forkedFrom={run.forked_from} />
      <Why kind="workflow" id={id} status={run.status} />
      {approvalId !== undefined && <ApprovalAnswer id={approvalId} />}
      <Facts
        facts={[
          [
            'Workflow',
            <DefinitionLink key="of" kind="workflow" id={run.workflow_id} version={run.workflow_version}>
              {plainLine(run.workflow_name)} {plainLine(run.workflow_version)}
            </DefinitionLink>,
          ],
          ['State', run.current_state === null ? '–' : plainLine(run.current_state)],
          ['Took', <Duration key="took" from={run.started_at} to={run.ended_at} />],
          ...(usage.data === undefined
            ? []
            : ([
                ['Runs of agents', formatCount(usage.data.runs)],
                ['Tokens in', formatCount(usage.data.input)],
                ['Tokens out', formatCount(usage.data.output)],
                ['Cost', usage.data.cost === 0 ? '0' : usage.data.cost.toFixed(6)],
              ] as const)),
          ['States seen', formatCount(spans.filter(({ kind }) => kind === 'state').length)],
        ]}
      />
      <Tabs tabs={TABS} label="Parts of the run" />
      {log.error !== null && <Failure error={log.error} />}
      {tab === '' && <Timeline spans={all} startedAt={run.started_at} endedAt={run.ended_at} />}
      {tab === 'graph' && (
        <Suspense fallback={<Loading what="the graph" />}>
          <WayGraph run={run} events={log.events} />
        </Suspense>
      )}
      {tab === 'blackboard' && <Blackboard id={id} run={run} />}
      {tab === 'judges' && <Judges run={listed.data ?? null} isLive={isLive} />}
      {tab === 'output' && (
        <>
          <h2>Input</h2>
          <LongJson value={run.input} name="input" />
          <h2>Output</h2>
          <LongJson value={run.output} name="output" />
        </>
      )}
      {tab === 'tree' && <ListedTree of={listed} />}
      {tab === 'events' && <EventLog log={log} />}
    </>
  );
}
