import type { Loop, LoopCall } from './inner-loop/state.ts';
import type { MemoryWait } from './memory/state.ts';
import type { ExecutionTurn, executionMessages } from './messages.ts';
import { runsInNode } from './plan.ts';
import type { ExecutionState, Forwarded, Judging, RunningExecution } from './state.ts';

/**
 * The present activity of a running execution, exactly one of these. It is derived from `current`, so that the stored fields
 * stay those of earlier versions.
 */
export type Phase =
  /** The model is asked once for the whole output: an agent without tools. */
  | { readonly kind: 'model'; readonly effect_id: string }
  /** A program or a container runs. `loop`: the inner loop that its bootstrap requested; null before that. */
  | { readonly kind: 'program'; readonly effect_id: string; readonly loop: Loop | null }
  /** The inner loop of an agent with tools whose loop the node drives. */
  | { readonly kind: 'loop'; readonly loop: Loop }
  /** The iteration has a result, which a panel, a model, or an effect on its workspace judges. */
  | { readonly kind: 'judging'; readonly judging: Judging }
  /** A worker outside of the fleet's store runs it. */
  | { readonly kind: 'worker'; readonly effect_id: string; readonly forwarded: Forwarded }
  /** No iteration has begun: files and URLs of `spec.context` are read. */
  | { readonly kind: 'context'; readonly effect_id: string }
  /** No iteration is open: learned patterns are queried, or the execution's own pattern is stored. */
  | { readonly kind: 'memory'; readonly memory: MemoryWait };

export function phaseOf({ current, plan }: RunningExecution): Phase {
  const { effect_id, judging, memory, loop, forwarded, context } = current;
  if (forwarded !== undefined) return { kind: 'worker', effect_id, forwarded };
  if (context !== undefined) return { kind: 'context', effect_id: context.effect_id };
  if (memory !== undefined) return { kind: 'memory', memory };
  if (judging !== undefined) return { kind: 'judging', judging };
  if (!runsInNode(plan)) return { kind: 'program', effect_id, loop: loop ?? null };
  return loop === undefined ? { kind: 'model', effect_id } : { kind: 'loop', loop };
}

/** One thing that a phase waits for. The answer carries the same `id`. */
export type Wait =
  | { readonly kind: 'model'; readonly id: string }
  | { readonly kind: 'program'; readonly id: string }
  | { readonly kind: 'worker'; readonly id: string; readonly forwarded: Forwarded }
  | { readonly kind: 'context'; readonly id: string }
  | { readonly kind: 'grant'; readonly id: string }
  | { readonly kind: 'round'; readonly id: string }
  | { readonly kind: 'call'; readonly id: string; readonly call: LoopCall }
  | { readonly kind: 'call judges'; readonly id: string; readonly call: LoopCall }
  | { readonly kind: 'dispatch'; readonly id: string; readonly call: LoopCall }
  | { readonly kind: 'panel'; readonly id: string; readonly judging: Judging }
  | { readonly kind: 'judge model'; readonly id: string; readonly judging: Judging }
  | { readonly kind: 'files'; readonly id: string; readonly judging: Judging }
  | { readonly kind: 'script'; readonly id: string; readonly judging: Judging }
  | { readonly kind: 'hints'; readonly id: string; readonly memory: Extract<MemoryWait, { for: 'hints' }> }
  | { readonly kind: 'store'; readonly id: string; readonly memory: Extract<MemoryWait, { for: 'stored' }> };

/** Everything that a phase waits for: a program and also the loop of its bootstrap, or all calls of one turn. */
export function waitsOf(phase: Phase): Wait[] {
  switch (phase.kind) {
    case 'model':
      return [{ kind: 'model', id: phase.effect_id }];
    case 'program':
      return [{ kind: 'program', id: phase.effect_id }, ...(phase.loop === null ? [] : waitsOfLoop(phase.loop))];
    case 'worker':
      return [{ kind: 'worker', id: phase.effect_id, forwarded: phase.forwarded }];
    case 'context':
      return [{ kind: 'context', id: phase.effect_id }];
    case 'loop':
      return waitsOfLoop(phase.loop);
    case 'judging': {
      const { judging } = phase;
      const { by } = judging;
      if (by.kind === 'panel') return [{ kind: 'panel', id: by.panel_id, judging }];
      return [{ kind: by.kind === 'model' ? 'judge model' : by.kind, id: by.effect_id, judging }];
    }
    case 'memory': {
      const { memory } = phase;
      if (memory.for === 'hints') return [{ kind: 'hints', id: memory.effect_id, memory }];
      return [{ kind: 'store', id: memory.effect_id, memory }];
    }
  }
}

export function waitsOfLoop({ phase, effect_id, calls }: Loop): Wait[] {
  if (phase === 'granting' && effect_id !== null) return [{ kind: 'grant', id: effect_id }];
  if (phase === 'model' && effect_id !== null) return [{ kind: 'round', id: effect_id }];
  return phase === 'calls' ? calls.flatMap(waitsOfCall) : [];
}

function waitsOfCall(call: LoopCall): Wait[] {
  const { status, effect_id, panel_id, dispatch_id } = call;
  if (status === 'running' && effect_id !== undefined) return [{ kind: 'call', id: effect_id, call }];
  if (status === 'judging' && panel_id !== undefined) return [{ kind: 'call judges', id: panel_id, call }];
  if (status === 'dispatched' && dispatch_id !== undefined) return [{ kind: 'dispatch', id: dispatch_id, call }];
  return [];
}

/** Stage of an execution when a message arrives. */
type Stage = 'pending' | Wait['kind'] | 'ended';

/** The stages that the execution is in: several while calls of tools run side by side. */
export function stagesOf(state: ExecutionState): Stage[] {
  if (state.status === 'running') return waitsOf(phaseOf(state)).map(({ kind }) => kind);
  return [state.status === 'pending' ? 'pending' : 'ended'];
}

/** The stages of an open iteration. */
const ITERATION = [
  'model',
  'program',
  'grant',
  'round',
  'call',
  'call judges',
  'dispatch',
  'panel',
  'judge model',
  'files',
  'script',
] as const;

/**
 * Stages in which each message is awaited; README.md shows the table. At any other stage the message of an effect, a timer or
 * another actor changes nothing, and a client's message is refused.
 */
export const AWAITED = {
  /** Answered the same at every stage; it begins the execution only in this one. */
  Start: ['pending'],
  Fork: ['pending'],
  /** Not while the pattern is stored: the output is accepted already. */
  Cancel: ['worker', 'context', ...ITERATION, 'hints'],
  ExecutionTimedOut: ['worker', 'context', ...ITERATION, 'hints', 'store'],
  IterationTimedOut: ITERATION,
  Attest: ['context', ...ITERATION, 'hints', 'store'],
  ModelAnswered: ['model', 'round'],
  ModelChunk: ['model', 'round'],
  ProgramEnded: ['program'],
  ProgramChunk: ['program'],
  WorkerSaid: ['worker'],
  WorkerEnded: ['worker'],
  ContextRead: ['context'],
  Generate: ['program'],
  ToolsGranted: ['grant'],
  ToolEnded: ['call'],
  DispatchEnded: ['dispatch'],
  PanelWord: ['panel', 'call judges'],
  ModelJudged: ['judge model'],
  FilesRead: ['files'],
  ScriptEnded: ['script'],
  MemoryAnswered: ['hints', 'store'],
  MemoryTimedOut: ['hints', 'store'],
} as const satisfies Record<keyof typeof executionMessages, readonly Stage[]>;

type MessageName = keyof typeof AWAITED;

type WaitFor<M extends MessageName> = Extract<Wait, { readonly kind: (typeof AWAITED)[M][number] }>;

const isFor = <M extends MessageName>(wait: Wait, message: M): wait is WaitFor<M> =>
  AWAITED[message].some((stage) => stage === wait.kind);

/** The wait that an answer ends; null when the answer is not awaited: it is late, repeated, or belongs to another iteration. */
export function awaited<M extends MessageName>(
  state: ExecutionState,
  message: M,
  id: string,
): { readonly running: RunningExecution; readonly wait: WaitFor<M> } | null {
  if (state.status !== 'running') return null;
  const wait = waitsOf(phaseOf(state)).find((one): one is WaitFor<M> => one.id === id && isFor(one, message));
  return wait === undefined ? null : { running: state, wait };
}

/** The running execution, if it accepts this timer or request, which names no wait; otherwise null. */
export function runningThatTakes(state: ExecutionState, message: MessageName): RunningExecution | null {
  if (state.status !== 'running') return null;
  const awaiting: readonly Stage[] = AWAITED[message];
  return stagesOf(state).every((stage) => awaiting.includes(stage)) ? state : null;
}

/** Refuses a client's request to an execution that does not run. */
export function runningOf(state: ExecutionState, turn: ExecutionTurn): RunningExecution {
  if (state.status === 'pending') return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  return state;
}

/**
 * The inner loop that continues, or that has ended while its bootstrap continues. Call it only for messages that a loop awaits.
 */
export function loopOf(running: RunningExecution): Loop {
  const { loop } = running.current;
  if (loop === undefined) throw new Error('the running iteration has no inner loop');
  return loop;
}

export function withLoop(running: RunningExecution, change: Partial<Loop>): RunningExecution {
  return { ...running, current: { ...running.current, loop: { ...loopOf(running), ...change } } };
}

export function withCall(running: RunningExecution, key: string, change: Partial<LoopCall>): RunningExecution {
  const calls = loopOf(running).calls.map((call) => (call.key === key ? { ...call, ...change } : call));
  return withLoop(running, { calls });
}
