import type { WorkflowStateExited } from '../../clients/typescript/gen/operations.ts';
import type { RunEvent } from './run-events.ts';
import type { StateGraph } from './state-graph.ts';

/** The record of one transition in the event of its state's exit. */
export type Tried = NonNullable<WorkflowStateExited['transitions']>[number];

/** Results of a transition of a workflow in one run, from the events of the run. */
export interface TransitionFate {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly condition: string;
  /** How often it was taken, and how often its state ended. */
  readonly taken: number;
  readonly ends: number;
  /** The record of the last exit of the state; null when the state has not ended, or in runs of earlier versions. */
  readonly last: Tried | null;
  /** Why it was not taken, as a sentence; null when the last end of its state took it. */
  readonly why: string | null;
}

interface Exit {
  readonly next: string | null;
  readonly tried: readonly Tried[] | null;
}

const exitOf = ({ payload: { next_state: next, transitions } }: RunEvent): Exit => ({
  next: typeof next === 'string' ? next : null,
  tried: Array.isArray(transitions) ? transitions : null,
});

/** All transitions of the manifest with their results. */
export function fatesOf({ edges }: StateGraph, events: readonly RunEvent[], hasEnded: boolean): TransitionFate[] {
  const entered = new Set<string>();
  const exits = new Map<string, Exit[]>();
  for (const event of events) {
    const state = String(event.payload.state_name);
    if (event.name === 'WorkflowStateEntered') entered.add(state);
    if (event.name === 'WorkflowStateExited') exits.set(state, [...(exits.get(state) ?? []), exitOf(event)]);
  }
  return edges.map(({ from, to, condition, place }) => {
    const own = exits.get(from) ?? [];
    const exit = own.at(-1);
    const last = exit?.tried?.[place] ?? null;
    const isTaken = (tried: Tried | undefined): boolean => tried?.result === 'taken';
    return {
      key: `${from} ${place}`,
      from,
      to,
      condition,
      taken: own.filter(({ tried }) => isTaken(tried?.[place])).length,
      ends: own.length,
      last,
      why: exit === undefined ? unended(from, entered.has(from), hasEnded) : whyNot(from, exit, last),
    };
  });
}

function unended(state: string, isEntered: boolean, hasEnded: boolean): string {
  if (!isEntered) return `The run ${hasEnded ? 'never reached' : 'has not reached'} state ${state}.`;
  return hasEnded ? `The run ended while it was in state ${state}.` : `State ${state} has not ended yet.`;
}

function whyNot(state: string, { next, tried }: Exit, last: Tried | null): string | null {
  if (last === null) return 'Not recorded: the run began on an earlier version.';
  if (last.result === 'taken') return null;
  if (last.result === 'no_match')
    return last.error === undefined ? 'Its condition was false.' : 'Its condition failed.';
  const winner = tried?.find(({ result }) => result === 'taken');
  if (winner === undefined || next === null) return `The run ended in state ${state}.`;
  return `Not tried: ${winner.condition} → ${winner.target} stands before it and was taken.`;
}
