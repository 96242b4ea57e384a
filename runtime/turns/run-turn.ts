import type { z } from 'zod';
import type { ActorDefinition } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import { type ActorRecord, frozen } from './record.ts';
import { type Decision, Refusal, SeededTurn } from './turn.ts';

export type TurnOutcome =
  | { readonly kind: 'done'; readonly state: unknown; readonly decision: Decision }
  | { readonly kind: 'refused'; readonly error: SvcError }
  /** The handler threw or returned a state its schema refuses: a bug, the message is tried again (design K6). */
  | { readonly kind: 'failed'; readonly error: Error };

/**
 * One turn: message in, decision out; pure. Nothing outside the arguments is read and nothing is written.
 */
export function runTurn(
  definition: ActorDefinition,
  record: ActorRecord,
  message: Message,
  tenant: string,
  now: number,
): TurnOutcome {
  const schema = Object.hasOwn(definition.messages, message.type) ? definition.messages[message.type] : undefined;
  const handler = Object.hasOwn(definition.on, message.type) ? definition.on[message.type] : undefined;
  if (schema === undefined || handler === undefined) {
    return refused(new SvcError('invalid_argument', `${definition.kind} takes no message ${message.type}`));
  }
  if (record.revision === 0 && definition.creates !== undefined && !definition.creates.includes(message.type)) {
    return refused(new SvcError('not_found', `${definition.kind} not found`));
  }
  const payload = schema.safeParse(message.payload);
  if (!payload.success) return refused(invalidPayload(message.type, payload.error));
  const turn = new SeededTurn(message, tenant, now, definition.events);
  try {
    const next = handler(record.state, payload.data, turn);
    const state = next === record.state ? next : frozen(definition.state.parse(next));
    return { kind: 'done', state, decision: turn.decision };
  } catch (thrown) {
    if (thrown instanceof Refusal) return refused(thrown.error);
    return { kind: 'failed', error: failureOf(thrown, message.type) };
  }
}

/** What V8 says of a write to a frozen object. */
const FROZEN = /read only property|object is not extensible|Cannot (delete|redefine) property/;

function failureOf(thrown: unknown, type: string): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  if (!(thrown instanceof TypeError) || !FROZEN.test(thrown.message)) return thrown;
  const text = `the handler of ${type} changed its state in place; return a new one instead`;
  return new Error(`${text}: ${thrown.message}`, { cause: thrown });
}

const refused = (error: SvcError): TurnOutcome => ({ kind: 'refused', error });

function invalidPayload(type: string, error: z.ZodError): SvcError {
  const details = error.issues.slice(0, 20).map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  return new SvcError('invalid_argument', `${type}: ${details[0]?.path ?? ''} ${details[0]?.message ?? 'malformed'}`, {
    details,
  });
}

type Ended = Exclude<TurnOutcome, { readonly kind: 'failed' }>;

/** Nothing follows a final event and an archived actor's stream is closed: a turn that would go on is refused. */
export function refusedAfterTheEnd(definition: ActorDefinition, record: ActorRecord, turn: Ended): Ended {
  if (turn.kind === 'refused' || record.revision === 0) return turn;
  const { events, effects, timersSet } = turn.decision;
  if (events.length + effects.length + timersSet.length === 0) return turn;
  const { done, kind } = definition;
  if (done?.(record.state) !== true) return turn;
  return { kind: 'refused', error: new SvcError('failed_precondition', `${kind} has ended`) };
}
