import { plainObject } from '../../runtime/json.ts';
import type { ExecutionTurn, Start } from './messages.ts';
import type { Forwarded, IdleExecution, RunningExecution } from './state.ts';
import { nothingStreamed } from './streamed.ts';

/** Annotation: whether another worker does a run whose worker was lost (`retry`), or the run fails (`fail`). */
const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

/**
 * Attempts to find a worker. They end before the execution's own time-out does only for runs of more than a quarter of an
 * hour.
 */
const RETRY = { maxAttempts: 100, initialDelayMs: 500, maxDelayMs: 20_000 } as const;

/** What a run begins with that a worker outside of the fleet does. */
export const forwardedBy = ({ metadata }: Start['manifest'], tags: readonly string[]): Forwarded => ({
  tags: [...tags],
  on_lost: metadata.annotations[ON_IN_DOUBT] === 'fail' ? 'fail' : 'retry',
  worker: null,
  seen: 0,
  offset: 0,
  open: false,
});

/**
 * Asks for a worker that does the run. The effect is `once`: a worker that was lost may have done something, so another
 * one does the run only when the policy says so.
 */
export function forwardExecution(
  execution: IdleExecution,
  forwarded: Forwarded,
  turn: ExecutionTurn,
): RunningExecution {
  const { execution_id, agent_id, agent_version, input, variables, identity, plan, started_at } = execution;
  const effect_id = turn.effect({
    kind: 'execution.forward',
    mode: 'once',
    input: plainObject({
      execution_id,
      agent_id,
      version: agent_version,
      tags: forwarded.tags,
      input,
      context: variables,
      subject: identity?.subject,
      known: forwarded.worker === null ? undefined : { node_id: forwarded.worker, events: forwarded.seen },
    }),
    replyAs: 'WorkerEnded',
    progressAs: 'WorkerSaid',
    retry: RETRY,
    timeoutMs: Math.max(1, Date.parse(started_at) + plan.execution_timeout_ms - turn.now),
  });
  return { ...execution, current: { effect_id, in_doubt: 0, streamed: nothingStreamed, forwarded } };
}
