import type { z } from 'zod';
import { addressOf } from '../address.ts';
import type { ActorClient, CallOptions } from '../client.ts';
import { type Answered, answerOf, type Schemas } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import { type Json, jsonField, plainJson } from '../json.ts';
import { payloadRefusal } from '../turns/turn.ts';

/** Arguments of a call. The payload is optional when an empty one is valid. */
type Arguments<Payload> =
  Record<never, never> extends Payload
    ? [payload?: Payload, options?: CallOptions]
    : [payload: Payload, options?: CallOptions];

/**
 * One actor for its callers: a function for each message. A message with an answer (`message(schema, answer)`) resolves
 * to that answer once the turn is committed, and rejects with the actor's refusal. A message without one resolves when
 * it is durable; what its handler refuses later reaches no caller.
 */
export type ActorHandle<Messages extends Schemas> = {
  readonly [N in keyof Messages]: (
    ...args: Arguments<z.input<Messages[N]>>
  ) => Promise<Messages[N] extends Answered<infer Answer> ? z.output<Answer> : void>;
};

/** The part of a definition that a caller needs: kind and messages, no handlers. */
export interface Callable<Messages extends Schemas> {
  readonly kind: string;
  readonly messages: Messages;
}

type Calls = Record<string, (payload?: unknown, options?: CallOptions) => Promise<unknown>>;

/** Creates the handle of one actor. Throws `invalid_argument` when tenant or id cannot be part of an address. */
export function actorHandle<Messages extends Schemas>(
  client: Pick<ActorClient, 'ask' | 'tell'>,
  { kind, messages }: Callable<Messages>,
  tenant: string,
  id: string,
): ActorHandle<Messages> {
  const address = addressOf(kind, tenant, id);
  const calls: Calls = {};
  for (const [type, schema] of Object.entries(messages)) {
    const answer = answerOf(schema);
    calls[type] = async (payload = {}, options = {}) => {
      const body = payloadOf(payload, `${kind}.${type}`);
      if (answer === undefined) {
        // The turn would refuse it without a caller that gets the refusal.
        const refusal = payloadRefusal(type, schema.safeParse(body));
        if (refusal !== null) throw refusal;
        return client.tell(address, type, body, options);
      }
      return answerFrom(answer, await client.ask(address, type, body, options), `${kind}.${type}`);
    };
  }
  return isHandle(calls, messages) ? calls : unmade(kind);
}

function payloadOf(payload: unknown, call: string): Json {
  try {
    return jsonField.parse(plainJson(payload));
  } catch (error) {
    const reason = error instanceof TypeError ? error.message : 'expected a JSON value';
    throw new SvcError('invalid_argument', `the payload of ${call} is not JSON: ${reason}`, { cause: error });
  }
}

/** The answer as its schema parses it. A handler that does not reply answers null. */
function answerFrom(schema: z.ZodType, answer: Json, call: string): unknown {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const text = answer === null ? 'its handler did not call turn.reply' : 'its handler is of another version';
  throw new SvcError('internal', `${call} has no answer of the declared form: ${text}`, { cause: parsed.error });
}

const isHandle = <Messages extends Schemas>(calls: object, messages: Messages): calls is ActorHandle<Messages> =>
  Object.keys(messages).every((type) => Object.hasOwn(calls, type));

function unmade(kind: string): never {
  throw new Error(`the calls of ${kind} are incomplete`);
}
