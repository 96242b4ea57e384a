import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Viewer } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import { leadsTo, nextTrace } from '../../runtime/turns/trace-count.ts';
import { findExecution } from '../executions.ts';
import { findWorkflow } from '../workflow-runs.ts';
import { type LinkOf, short, type Why, type WhyLink } from './links.ts';
import { Reading, type WhyLookups } from './reading.ts';
import { type RunFinder, Walk } from './walk.ts';

/**
 * Explains runs: why one waits, or why it ended so. Answers within a second, also while a store is unavailable. Throws
 * `not_found` for runs that the viewer may not see.
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
    execution: (tenant, id) => foundOrNull(findExecution(executionsOf, tenant, id)),
    workflow: (tenant, id) => foundOrNull(findWorkflow(workflowsOf, tenant, id)),
  };

  async function explain(viewer: Viewer, id: string, kinds: readonly ('execution' | 'workflow')[]): Promise<Why> {
    const reading = new Reading(viewer, lookups);
    const walk = new Walk(reading, runs);
    let links: Why['links'];
    let forkedFrom: Why['forked_from'];
    const chain = await reading.walk(async () => {
      if (kinds.includes('execution')) {
        const finding = () => findExecution(executionsOf, viewer, id);
        const found = await reading.ask('actors', () =>
          kinds.includes('workflow') ? foundOrNull(finding()) : finding(),
        );
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

/** With 10,000 deliveries for each trace: a million deliveries of one run. */
const MOST_TRACES = 100;

/** Links to the trace in which a run continues, when that is not its first trace any more. */
function linksOf(run: {
  readonly snapshot: Pick<ActorSnapshot, 'trace'>;
  readonly state: { readonly trace_id?: string | undefined };
}): Why['links'] {
  const began = run.state.trace_id;
  const { trace } = run.snapshot;
  if (began === undefined || trace === undefined || trace === began) return undefined;
  return leadsTo(began, trace, MOST_TRACES) ? [{ trace_id: nextTrace(began), relation: 'next' }] : undefined;
}

const ENDED: readonly unknown[] = ['completed', 'failed', 'cancelled'];

const hasEnded = (first: WhyLink | undefined): boolean =>
  (first?.kind === 'execution' || first?.kind === 'workflow') && ENDED.includes(first.status);

type Run = Extract<WhyLink, { kind: 'execution' | 'workflow' | 'child' | 'judge' }>;

const isRun = (link: WhyLink): link is Run =>
  link.kind === 'execution' || link.kind === 'workflow' || link.kind === 'child' || link.kind === 'judge';

/** Writes a chain as one English sentence. A chain that begins with no run says why the run could not be read. */
export function sentenceOf(chain: readonly WhyLink[], id: string, waiting: boolean): string {
  const [first, ...rest] = chain;
  if (first === undefined || !isRun(first)) {
    const why = chain.map(({ reason }) => reason).join(': ');
    return `What run ${short(id)} waits for could not be read because of ${why}.`;
  }
  return waiting ? waitingSentence(first, rest) : endedSentence(first, rest);
}

const placeOf = ({ iteration }: Run): string => (iteration === null ? '' : ` in iteration ${iteration}`);

const VERBS: Readonly<Record<string, string>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
};

const verbOf = ({ status }: Run): string => VERBS[status ?? ''] ?? 'ended';

/** The cause behind a completed run is the error of its last state: its outcome is `failed`. */
const endOf = (run: Run, isLast: boolean): string =>
  run.status === 'completed' && !isLast ? 'ended as failed' : verbOf(run);

/**
 * `Run 12ab… waits in state review for approval 77…`: the awaited thing, then cause after cause, in one clause for each run.
 */
function waitingSentence(first: Run, rest: readonly WhyLink[]): string {
  let text = `Run ${short(first.id ?? '')} waits${placeOf(first)}`;
  let hasCause = false;
  rest.forEach((link, at) => {
    const between = hasCause ? ': ' : ' for ';
    if (link.kind === 'state') {
      text += ` in ${link.reason}`;
      return;
    }
    text += `${between}${link.reason}`;
    hasCause = true;
    if (!isRun(link) || at === rest.length - 1) return;
    const hasEnded = VERBS[link.status ?? ''] !== undefined;
    text += `, which ${hasEnded ? verbOf(link) : 'waits'}${placeOf(link)}`;
    hasCause = hasEnded;
  });
  return `${text}.`;
}

/** After its run, which names the iteration, an attempt is shown by its error alone. */
const errorOf = ({ id, reason }: LinkOf<'attempt'>, before: WhyLink): string =>
  isRun(before) && String(before.iteration) === id ? reason.replace(`iteration ${id} failed with `, '') : reason;

/** `Run 12ab… failed in state review: child run 34cd… failed in iteration 2: …` */
function endedSentence(first: Run, rest: readonly WhyLink[]): string {
  let text = `Run ${short(first.id ?? '')} ${endOf(first, rest.length === 0)}${placeOf(first)}`;
  rest.forEach((link, at) => {
    if (link.kind === 'state') text += ` in ${link.reason}`;
    else if (isRun(link)) text += `: ${link.reason} ${endOf(link, at === rest.length - 1)}${placeOf(link)}`;
    else text += `: ${link.kind === 'attempt' ? errorOf(link, rest[at - 1] ?? first) : link.reason}`;
  });
  return `${text.replace(/[.\s]+$/, '')}.`;
}
