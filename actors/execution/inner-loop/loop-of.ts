import type { ExecutionState, RunningExecution } from '../state.ts';
import type { Loop, LoopCall } from './state.ts';

interface Looping {
  readonly running: RunningExecution;
  readonly loop: Loop;
}

/** The loop when it waits for this effect of the model or the grant, else null: the message is late or repeated. */
export function loopAwaiting(state: ExecutionState, effectId: string): Looping | null {
  const looping = loopOf(state);
  return looping !== null && looping.loop.effect_id === effectId ? looping : null;
}

export function loopOf(state: ExecutionState): Looping | null {
  if (state.status !== 'running' || state.current.judging !== undefined) return null;
  const { loop } = state.current;
  return loop === undefined ? null : { running: state, loop };
}

export function withLoop(running: RunningExecution, change: Partial<Loop>): RunningExecution {
  const { loop } = running.current;
  if (loop === undefined) return running;
  return { ...running, current: { ...running.current, loop: { ...loop, ...change } } };
}

export function withCall(running: RunningExecution, key: string, change: Partial<LoopCall>): RunningExecution {
  const calls = running.current.loop?.calls ?? [];
  return withLoop(running, { calls: calls.map((call) => (call.key === key ? { ...call, ...change } : call)) });
}
