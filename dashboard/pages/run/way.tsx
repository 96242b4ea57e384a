import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { WorkflowExecutionStatus } from '../../../clients/typescript/gen/operations.ts';
import { api } from '../../api/queries.ts';
import type { RunEvent } from '../../api/run-events.ts';
import { graphOf, type StateGraph, type Way } from '../../api/state-graph.ts';
import { fatesOf } from '../../api/transitions.ts';
import { GraphView } from '../../parts/graph-view.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { Transitions } from './transitions.tsx';

interface WayProps {
  readonly run: WorkflowExecutionStatus;
  readonly events: readonly RunEvent[];
}

/** The states of the workflow, with the path of the run and its current state. */
export function RunWay({ run, events }: WayProps) {
  const { workflow_id: name, workflow_version: version } = run;
  const read = useQuery({
    queryKey: ['workflow', name, version],
    queryFn: () => api.workflows.get({ name, version }),
  });
  const graph = useMemo<StateGraph | null>(
    () => (read.data === undefined ? null : graphOf(read.data.manifest)),
    [read.data],
  );
  const way = useMemo(() => wayOf(events, run.ended_at === null ? run.current_state : null), [events, run]);
  const fates = useMemo(
    () => (graph === null ? [] : fatesOf(graph, events, run.ended_at !== null)),
    [graph, events, run.ended_at],
  );
  if (graph === null) return <ReadState of={read} what="the manifest" />;
  return (
    <>
      <GraphView graph={graph} way={way} label={`States of ${run.workflow_name}`} />
      <Transitions fates={fates} />
    </>
  );
}

function wayOf(events: readonly RunEvent[], current: string | null): Way {
  const visits = new Map<string, number>();
  const failed = new Set<string>();
  const taken = new Map<string, number>();
  for (const { name, payload } of events) {
    const state = String(payload.state_name);
    if (name === 'WorkflowStateEntered') visits.set(state, (visits.get(state) ?? 0) + 1);
    if (name !== 'WorkflowStateExited') continue;
    if (payload.status === 'failed') failed.add(state);
    if (typeof payload.next_state !== 'string') continue;
    const key = `${state} ${String(payload.condition)} ${payload.next_state}`;
    taken.set(key, (taken.get(key) ?? 0) + 1);
  }
  return { visits, failed, taken, current };
}
