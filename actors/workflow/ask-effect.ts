import type { EffectRequest } from '../../runtime/define-actor.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { jsonBytes } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn, workflowMessages } from './messages.ts';
import { StepFailure } from './steps/step.ts';

type Request = EffectRequest<keyof typeof workflowMessages & string>;

/** For starts of children and volumes, which may wait until a service is available again. */
const PATIENT = { maxAttempts: 6, initialDelayMs: 500, maxDelayMs: 15_000 } as const;
/** Only failures before the command started, which the effect reports as kind `retry`. */
const BEFORE_THE_START = { maxAttempts: 3, initialDelayMs: 500, maxDelayMs: 5_000 } as const;

/** Effects of a run: kind, mode (whether a repeat is harmless), and the message that takes the answer (E2). */
const EFFECTS = {
  'volumes.prepare': { mode: 'repeatable', replyAs: 'VolumesPrepared', retry: PATIENT },
  'agent.start': { mode: 'repeatable', replyAs: 'AgentStarted', retry: PATIENT },
  'workflow.start': { mode: 'repeatable', replyAs: 'ChildStarted', retry: PATIENT },
  'command.run': { mode: 'once', replyAs: 'CommandEnded', retry: BEFORE_THE_START },
  // The state's `retry` gives the attempts, which the run counts.
  'container.run': { mode: 'repeatable', replyAs: 'ContainerEnded' },
} as const satisfies Record<string, Pick<Request, 'mode' | 'replyAs' | 'retry'>>;

/** Requests an effect; returns its id. */
export function askEffect(kind: keyof typeof EFFECTS, input: JsonObject, context: Json, turn: WorkflowTurn): string {
  return turn.effect({ kind, ...EFFECTS[kind], input, context });
}

/** Limits the input of one state's effects. Throws a StepFailure. */
export function bounded<T extends JsonObject>(inputs: readonly T[]): readonly T[] {
  const bytes = inputs.reduce((sum, input) => sum + jsonBytes(input), 0);
  if (bytes <= LIMITS.effectInputBytes) return inputs;
  const message = `what the state asks for has ${bytes} bytes, the limit is ${LIMITS.effectInputBytes}`;
  throw new StepFailure('payload_too_large', message);
}
