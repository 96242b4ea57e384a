import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ExecutionStatus } from '../../../clients/typescript/gen/operations.ts';
import type { AuditChain } from '../../api/audit-chain.ts';
import { api, listRefreshMs } from '../../api/queries.ts';
import { useRunEvents } from '../../api/run-events.ts';
import { useListedRun } from '../../api/run-list.ts';
import { useTraceSpans } from '../../api/run-trace.ts';
import { hasEnded, type Run } from '../../api/runs.ts';
import { attemptsOf, inOrder, type Span, spansOf } from '../../api/timeline.ts';
import { toolSpansOf, useToolChains } from '../../api/tool-calls.ts';
import { useFilters } from '../../app/use-filters.ts';
import { formatCount, plainLine } from '../../parts/format.ts';
import { Failure } from '../../parts/notice.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Duration } from '../../parts/time.tsx';
import { AgentInput, Attempts } from './attempts.tsx';
import { EventLog } from './event-log.tsx';
import { DefinitionLink, Facts, NoRun, RunHead } from './head.tsx';
import { Judges } from './judges.tsx';
import { Timeline } from './timeline.tsx';
import { ToolCalls } from './tool-calls.tsx';
import { ListedTree } from './tree.tsx';
import { Why } from './why.tsx';

const TABS = [
  ['timeline', 'Timeline'],
  ['attempts', 'Iterations'],
  ['tools', 'Tool calls'],
  ['judges', 'Judges'],
  ['input', 'Input'],
  ['tree', 'Parents and children'],
  ['events', 'Events'],
] as const;

const NO_CHAINS: readonly AuditChain[] = [];

/**
 * Iterations, effects and tool calls on one axis. The effect of a tool call is shown once: with its tool, where the audit chain
 * has it.
 */
function allSpans(spans: readonly Span[], trace: readonly Span[], chains: readonly AuditChain[]): Span[] {
  const tools = toolSpansOf(chains);
  return inOrder(spans, tools.length === 0 ? trace : trace.filter(({ label }) => label !== 'tool.call'), tools);
}

/** A run of an agent: first the reason, then the details. */
export function ExecutionPage({ id }: { readonly id: string }) {
  const status = useQuery({
    queryKey: ['execution', id],
    queryFn: () => api.executions.get({ id }),
    refetchInterval: ({ state }) => (state.data !== undefined && hasEnded(state.data) ? false : listRefreshMs()),
  });
  const listed = useListedRun(id, { isOver: status.data !== undefined && hasEnded(status.data) });
  const log = useRunEvents('execution', id);
  const spans = useMemo(() => spansOf(log.events), [log.events]);
  const attempts = useMemo(() => attemptsOf(log.events), [log.events]);
  const [{ tab = '' }] = useFilters();
  const run = status.data;
  const isLive = run !== undefined && !hasEnded(run);
  const trace = useTraceSpans({ kind: 'execution', id, trace: listed.data?.trace_id ?? null, isLive });
  const { data: chains = NO_CHAINS } = useToolChains(id, isLive);
  const all = useMemo(() => allSpans(spans, trace, chains), [spans, trace, chains]);
  if (run === undefined) return <NoRun of={status} id={id} />;
  return (
    <>
      <RunHead kind="execution" id={id} status={run.status} listed={listed.data ?? null} forkedFrom={run.forked_from} />
      <Why kind="execution" id={id} status={run.status} />
      <ExecutionFacts run={run} listed={listed.data ?? null} />
      <Tabs tabs={TABS} label="Parts of the run" />
      {log.error !== null && <Failure error={log.error} />}
      {tab === '' && (
        <>
          <Timeline spans={all} startedAt={run.started_at} endedAt={run.ended_at} />
          <Attempts attempts={attempts.slice(-1)} isLive={!hasEnded(run)} />
        </>
      )}
      {tab === 'attempts' && <Attempts attempts={attempts} isLive={!hasEnded(run)} />}
      {tab === 'tools' && <ToolCalls executionId={id} isLive={isLive} />}
      {tab === 'judges' && <Judges run={listed.data ?? null} isLive={isLive} />}
      {tab === 'input' && <AgentInput id={id} />}
      {tab === 'tree' && <ListedTree of={listed} />}
      {tab === 'events' && <EventLog log={log} />}
    </>
  );
}

function ExecutionFacts({ run, listed }: { readonly run: ExecutionStatus; readonly listed: Run | null }) {
  const { usage } = run;
  return (
    <Facts
      facts={[
        [
          'Agent',
          <DefinitionLink key="of" kind="agent" id={run.agent_id} version={listed?.version}>
            {listed === null ? run.agent_id.slice(0, 8) : plainLine(`${listed.name} ${listed.version}`)}
          </DefinitionLink>,
        ],
        ['Took', <Duration key="took" from={run.started_at} to={run.ended_at} />],
        ['Iterations', formatCount(run.iteration_count)],
        ['Tokens in', formatCount(usage.input_tokens)],
        ['Tokens out', formatCount(usage.output_tokens)],
        ['Cost', usage.cost === 0 ? '0' : usage.cost.toFixed(6)],
        ['Tool calls executed', formatCount(run.tool_calls_executed ?? 0)],
        ...((run.in_doubt ?? 0) > 0 ? [['In doubt', formatCount(run.in_doubt ?? 0)] as const] : []),
      ]}
    />
  );
}
