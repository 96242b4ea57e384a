import { type ExecutionEventName, executionEvents } from '../../actors/execution/events.ts';
import { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';

type Member = ExecutionEvent['event'];

/** The members of the oneof (spec 1): the recorded payloads have the fields of the messages. */
const MEMBERS: { readonly [Name in ExecutionEventName]: (payload: Json) => Member } = {
  execution_started: (payload) => ({
    $case: 'execution_started',
    value: executionEvents.execution_started.parse(payload),
  }),
  iteration_started: (payload) => ({
    $case: 'iteration_started',
    value: executionEvents.iteration_started.parse(payload),
  }),
  iteration_output: (payload) => ({
    $case: 'iteration_output',
    value: executionEvents.iteration_output.parse(payload),
  }),
  iteration_completed: (payload) => ({
    $case: 'iteration_completed',
    value: executionEvents.iteration_completed.parse(payload),
  }),
  iteration_failed: (payload) => ({
    $case: 'iteration_failed',
    value: executionEvents.iteration_failed.parse(payload),
  }),
  refinement_applied: (payload) => ({
    $case: 'refinement_applied',
    value: executionEvents.refinement_applied.parse(payload),
  }),
  execution_completed: (payload) => ({
    $case: 'execution_completed',
    value: executionEvents.execution_completed.parse(payload),
  }),
  execution_failed: (payload) => ({
    $case: 'execution_failed',
    value: executionEvents.execution_failed.parse(payload),
  }),
};

const isEventName = (name: string): name is ExecutionEventName => Object.hasOwn(MEMBERS, name);

/** One recorded event as a serialised `ExecutionEvent`. */
export function encodeEvent(event: ActorEvent): Buffer {
  const { name, payload, seq } = event;
  if (!isEventName(name)) throw new SvcError('internal', `event ${seq} has the name ${name}, which has no message`);
  const bytes = ExecutionEvent.encode({ event: MEMBERS[name](payload) }).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
