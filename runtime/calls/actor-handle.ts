import type { z } from 'zod';
import { addressOf } from '../address.ts';
import type { ActorClient, CallOptions } from '../client.ts';
import { type Answered, answerOf, type Schemas } from '../define-actor.ts';
import { jsonField, plainJson } from '../json.ts';

/** Arguments of a call. The payload is optional when an empty one is valid. */
type Arguments<Payload> =
  Record<never, never> extends Payload
    ? [payload?: Payload, options?: CallOptions]
    : [payload: Payload, options?: CallOptions];

/**
 * One actor for its callers: a function for each message. A message with an answer (`message(schema, answer)`) resolves
 * to that answer once the turn is committed, and rejects with the actor's refusal. A message without one resolves when
 * it is durable.
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
      const body = jsonField.parse(plainJson(payload));
      if (answer === undefined) return client.tell(address, type, body, options);
      return answer.parse(await client.ask(address, type, body, options));
    };
  }
  return isHandle(calls, messages) ? calls : unmade(kind);
}

const isHandle = <Messages extends Schemas>(calls: object, messages: Messages): calls is ActorHandle<Messages> =>
  Object.keys(messages).every((type) => Object.hasOwn(calls, type));

function unmade(kind: string): never {
  throw new Error(`the calls of ${kind} are incomplete`);
}
