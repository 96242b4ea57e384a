import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Viewer } from '../../runtime/identity.ts';
import { leadsTo, nextTrace } from '../../runtime/turns/trace-count.ts';
import { findExecution } from '../executions.ts';
import { findWorkflow } from '../workflow-runs.ts';
import type { Why, WhyLink } from './links.ts';
import { Reading, type WhyLookups } from './reading.ts';
import { sentenceOf } from './sentence.ts';
import { type RunFinder, Walk } from './walk.ts';

/**
 * Explains runs: why one waits, or why it ended so. Answers within a second, also while a store is away. Throws
 * `not_found` for what the viewer may not see.
 */
export interface WhyApi {
  execution(viewer: Viewer, id: string): Promise<Why>;
  workflow(viewer: Viewer, id: string): Promise<Why>;
  /** A run of either kind. */
  run(viewer: Viewer, id: string): Promise<Why>;
}

/** Implements `WhyApi` over committed states and the lookups of waits. Changes nothing. */
export function createWhyApi(parts: {
  readonly lookups: WhyLookups;
  readonly executions: Collection<ExecutionDocument>;
  readonly workflows: Collection<WorkflowExecutionDocument>;
}): WhyApi {
  const { lookups } = parts;
  const { client } = lookups;
  const executionsOf = { client, executions: parts.executions };
  const workflowsOf = { client, executions: parts.workflows };
  const runs: RunFinder = {
    execution: (tenant, id) => orNull(findExecution(executionsOf, tenant, id)),
    workflow: (tenant, id) => orNull(findWorkflow(workflowsOf, tenant, id)),
  };

  async function explain(viewer: Viewer, id: string, kinds: readonly ('execution' | 'workflow')[]): Promise<Why> {
    const reading = new Reading(viewer, lookups);
    const walk = new Walk(reading, runs);
    let links: Why['links'];
    let forkedFrom: Why['forked_from'];
    const chain = await reading.walk(async () => {
      if (kinds.includes('execution')) {
        const finding = () => findExecution(executionsOf, viewer, id);
        const found = await reading.ask('actors', () => (kinds.includes('workflow') ? orNull(finding()) : finding()));
        if (found !== null) {
          links = 'snapshot' in found ? linksOf(found) : undefined;
          forkedFrom = 'snapshot' in found ? found.state.forked_from : undefined;
          return walk.execution(found, id, 'run');
        }
      }
      const found = await reading.ask('actors', () => findWorkflow(workflowsOf, viewer, id));
      links = linksOf(found);
      forkedFrom = found.state.forked_from;
      await walk.workflow(found, id, 'run');
    });
    const waiting = !hasEnded(chain[0]);
    return { waiting, sentence: sentenceOf(chain, id, waiting), chain, links, forked_from: forkedFrom };
  }

  return {
    execution: (viewer, id) => explain(viewer, id, ['execution']),
    workflow: (viewer, id) => explain(viewer, id, ['workflow']),
    async run(viewer, id) {
      try {
        return await explain(viewer, id, ['execution', 'workflow']);
      } catch (thrown) {
        if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
        throw new SvcError('not_found', 'execution not found');
      }
    },
  };
}

/** A million deliveries of one run. */
const MOST_TRACES = 100;

/** The trace that a run goes on in, when it is not in the one that it began with any more. */
function linksOf(run: {
  readonly snapshot: Pick<ActorSnapshot, 'trace'>;
  readonly state: { readonly trace_id?: string | undefined };
}): Why['links'] {
  const began = run.state.trace_id;
  const { trace } = run.snapshot;
  if (began === undefined || trace === undefined || trace === began) return undefined;
  return leadsTo(began, trace, MOST_TRACES) ? [{ trace_id: nextTrace(began), relation: 'next' }] : undefined;
}

/** Null for what is unknown. */
async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
    throw thrown;
  }
}

const ENDED: readonly unknown[] = ['completed', 'failed', 'cancelled'];

const hasEnded = (first: WhyLink | undefined): boolean =>
  (first?.kind === 'execution' || first?.kind === 'workflow') && ENDED.includes(first.status);
