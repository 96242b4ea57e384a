import type { z } from 'zod';
import type { EffectMode } from './actor-store.ts';
import { type Address, type Partition, type PoolLayout, partitionOf } from './address.ts';
import type { Query, StoredDocument } from './documents.ts';
import type { ErrorCode, ErrorDetail } from './errors.ts';
import type { Identity } from './identity.ts';
import type { Json, JsonObject } from './json.ts';
import type { TraceContext } from './tracing/trace-context.ts';
import { checkDefinition } from './turns/check-definition.ts';

export type Schemas = Readonly<Record<string, z.ZodType>>;

const ANSWER = Symbol('answer');

/** A message schema that also carries the schema of its answer; see `message`. */
export interface Answered<Answer extends z.ZodType = z.ZodType> {
  readonly [ANSWER]: Answer;
}

/**
 * Declares a message and its answer. `turn.reply` accepts only that answer, which is checked before the commit, and a
 * call through `client.actor(…)` resolves to it. A message without an answer is only sent: its call resolves when the
 * message is in the mailbox.
 */
export function message<Payload extends z.ZodType, Answer extends z.ZodType>(
  payload: Payload,
  answer: Answer,
): Payload & Answered<Answer> {
  return Object.assign(payload.clone(), { [ANSWER]: answer });
}

const isAnswered = (schema: z.ZodType): schema is z.ZodType & Answered => ANSWER in schema;

/** The schema of a message's answer; undefined when it declares none. */
export const answerOf = (schema: z.ZodType): z.ZodType | undefined => (isAnswered(schema) ? schema[ANSWER] : undefined);

/**
 * Type that `turn.reply` accepts in the handler of a message: the declared answer, or any JSON when none is declared.
 */
type ReplyTo<Schema> = Schema extends Answered<infer Answer> ? z.input<Answer> : Json;

/**
 * What a handler may do besides returning the next state (K5). A handler only decides: it never does I/O. The batch's
 * one commit writes all of it, or nothing when the handler throws or refuses.
 */
export interface Turn<Events extends Schemas, Messages extends Schemas, Answer = Json> {
  readonly self: Address;
  readonly tenant: string;
  /** Sending actor, null for a client. */
  readonly sender: Address | null;
  /** Identity of the caller when a client sent the message. */
  readonly identity: Identity | null;
  readonly messageId: string;
  readonly trace: string;
  /** Trace context of the messages of the trace, beside its id. */
  readonly traceContext: TraceContext | undefined;
  /** Recorded time of the turn, Unix ms. A replay sees the same time. */
  readonly now: number;
  /** Returns the next UUID of the turn's seeded sequence. A replay gets the same one. */
  newId(): string;
  /** Returns the next number in [0, 1) of the turn's seeded sequence. A replay gets the same one. */
  random(): number;

  /** Appends an event to the actor's stream. */
  emit<N extends keyof Events & string>(name: N, payload: z.input<Events[N]>): void;
  /**
   * Sends a message to another actor. `replyAs` names the message type under which its answer arrives. Mark a message
   * that is not urgent as `lazy`: it may arrive some tens of milliseconds later, together with others.
   */
  tell(to: Address, type: string, payload: Json, options?: TellOptions): void;
  /** Sends an answer to the caller, after the commit. A later call of the same turn replaces it. */
  reply(value: Answer): void;
  /** Undoes everything that this turn decided and answers the caller with an error. It ends the handler by throwing. */
  refuse(code: ErrorCode, message?: string, details?: readonly ErrorDetail[]): never;
  /** Sends this actor a message after `delayMs`. It replaces a timer of the same name. */
  after<N extends keyof Messages & string>(name: string, delayMs: number, type: N, payload: z.input<Messages[N]>): void;
  /** Clears a pending timer; without one of that name it does nothing. */
  clear(timer: string): void;
  /** Requests an effect: work outside the actor. Returns the effect's id. */
  effect<N extends keyof Messages & string>(request: EffectRequest<N>): string;
  /** Requests an effect by its definition: the input is typed, and it is checked when the effect runs. */
  effect<Input extends z.ZodType, N extends keyof Messages & string>(
    effect: EffectKind<Input>,
    request: RequestOf<Input, N>,
  ): string;
  /** Cancels an effect. Results that arrive later are dropped. */
  cancelEffect(id: string): void;
}

export interface TellOptions {
  readonly replyAs?: string;
  readonly delivery?: 'lazy';
}

/** A request for work outside the actor (E1–E3). */
export interface EffectRequest<MessageType extends string = string> {
  /** Name of the effect handler: `model.generate`, `program.run` … */
  readonly kind: string;
  readonly mode: EffectMode;
  /**
   * Lets a `repeatable` effect begin before the commit that requests it is durable. When that commit fails, the work
   * was useless. Use it for effects that only read and do not depend on what the commit writes.
   */
  readonly ahead?: boolean;
  readonly input: JsonObject;
  /** Message type of the result; its payload is an `EffectResult`. */
  readonly replyAs: MessageType;
  /** Message type of intermediate results (payload `EffectProgress`); without it they are dropped. */
  readonly progressAs?: MessageType;
  /** Returned unchanged with each result, so that a handler knows the purpose of the effect. */
  readonly context?: Json;
  readonly retry?: RetryPolicy;
  /** Longest time that one attempt may run, milliseconds. */
  readonly timeoutMs?: number;
}

/** The part of an effect's definition that an actor needs to request it. */
export interface EffectKind<Input extends z.ZodType = z.ZodType> {
  readonly kind: string;
  readonly input: Input;
}

export type RequestOf<Input extends z.ZodType, MessageType extends string = string> = Omit<
  EffectRequest<MessageType>,
  'kind' | 'input'
> & { readonly input: z.input<Input> };

/** Full-jitter exponential backoff between attempts of a failed effect (E3). */
export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/**
 * Handles one message of one type. The type uses method form on purpose: a registry holds definitions of all state
 * types, and the kernel checks state and message with the definition's own schemas before each call.
 */
type Handler<State, Message, T> = {
  handle(state: State, message: Message, turn: T): Immutable<State>;
}['handle'];

/** Deeply read-only: a value that a handler returned is never changed again. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

/** An actor kind (K6): everything that the kernel needs to serve its actors. */
export interface ActorDefinition<
  State = unknown,
  Messages extends Schemas = Schemas,
  Events extends Schemas = Schemas,
> {
  /** First segment of the addresses. */
  readonly kind: string;
  /** Version of the state schema. Records of older versions go through `migrate`. */
  readonly version: number;
  readonly state: z.ZodType<State>;
  /** State before the first message. */
  initial(self: { readonly address: Address; readonly tenant: string; readonly id: string }): Immutable<State>;
  readonly messages: Messages;
  readonly events: Events;
  readonly on: {
    readonly [N in keyof Messages]: Handler<State, z.output<Messages[N]>, Turn<Events, Messages, ReplyTo<Messages[N]>>>;
  };
  /** Converts a state of an older version to the current one. */
  migrate?(state: Json, fromVersion: number): Json;
  /**
   * Names the agent or workflow that an actor's effects count for. Those of one tenant get slots for effects in turn,
   * so that one of them does not hold back the others. Default: all actors of the kind share one turn.
   */
  fairnessKey?(state: State): string | null;
  /** Pool in which its actors live (P1). Default: `default`. */
  readonly pool?: 'default' | 'system';
  /** Its actors may live outside their home partition: `ActorClient.place` (K1, P1, P4). */
  readonly placed?: boolean;
  /** How long an actor that is not used stays in memory, ms, at most the time of the runtime. Default: that time. */
  readonly idleMs?: number;
  /** Events that no other event follows: the actor's stream ends with one of these. */
  readonly finalEvents?: readonly (keyof Events & string)[];
  /**
   * The document of an actor in lists and searches. The projector writes it to the collection after each change; the kernel
   * fills in `version`.
   */
  readonly view?: {
    readonly collection: string;
    /** Field tuples to index. */
    readonly indexes?: readonly (readonly string[])[];
    /**
     * Selects the documents of actors that have not ended, in a collection where a document has the id of its actor. A
     * store that lost its last writes may not know some of these actors; their documents are then removed from the
     * list.
     */
    readonly open?: Query['where'];
    /** Its changes are in the feed: the projector appends them to the change log (documents/change-log.ts). */
    readonly isInFeed?: true;
    /** The projector adds `node` and `pool`: which node handled the actor's last message, and in which pool. */
    readonly isLocated?: true;
    project(
      state: State,
      self: { readonly tenant: string; readonly id: string },
    ): Omit<StoredDocument, 'version'> | null;
  };
  /** True once the actor does nothing more: it is archived and leaves the store (K8). */
  done?(state: State): boolean;
  /**
   * False: a done actor leaves the store without an archive, and a later message finds an unknown actor. For kinds of
   * which unauthenticated callers can create many.
   */
  readonly keepsArchive?: false;
  /**
   * The actor that an ended one belongs to, or null. The ended actor is kept while that one runs and is removed with
   * it. For kinds that are parts of a run, such as approvals.
   */
  belongsTo?(state: State, self: { readonly tenant: string }): Address | null;
  /**
   * True for kinds whose actors exist only as parts of others: they are removed together with the actor that they
   * belong to.
   */
  readonly isPart?: true;
  /** Names the retention rule for its ended actors (runtime/retention). Default: `runs`. */
  readonly retainedAs?: string;
  /**
   * Message types that may create an actor. Any other message to an unknown actor is refused with `not_found`. Default:
   * all.
   */
  readonly creates?: readonly (keyof Messages & string)[];
}

/** Whether an actor of the kind that is not in the store may be in the archive. */
export const isArchived = ({ done, keepsArchive }: Pick<ActorDefinition, 'done' | 'keepsArchive'>): boolean =>
  done !== undefined && keepsArchive !== false;

/** Types a definition and checks it. Throws an error that names the field. Pass the result to `startRuntime`. */
export function defineActor<const State, Messages extends Schemas, Events extends Schemas>(
  definition: ActorDefinition<State, Messages, Events>,
): ActorDefinition<State, Messages, Events> {
  checkDefinition(definition);
  return definition;
}

/** The actor kinds that a node serves, and the partitions in which their actors live. */
export class Registry {
  readonly #kinds = new Map<string, ActorDefinition>();
  readonly #layouts: Map<string, PoolLayout>;

  constructor(definitions: readonly ActorDefinition[], layouts: readonly PoolLayout[]) {
    this.#layouts = new Map(layouts.map((layout) => [layout.pool, layout]));
    for (const definition of definitions) {
      checkDefinition(definition);
      if (this.#kinds.has(definition.kind)) throw new Error(`actor kind ${definition.kind} is defined twice`);
      this.#kinds.set(definition.kind, definition);
    }
  }

  definitionOf(address: Address): ActorDefinition | undefined {
    return this.#kinds.get(address.slice(0, address.indexOf('/')));
  }

  get definitions(): readonly ActorDefinition[] {
    return [...this.#kinds.values()];
  }

  /**
   * Home of an address: a partition of its kind's pool, chosen by hash (K1). Actors of a `placed` kind may live
   * elsewhere: see Locator.
   */
  homeOf(address: Address): Partition {
    return this.partitionIn(this.definitionOf(address)?.pool ?? 'default', address);
  }

  /** The partition that an address would have in a pool. */
  partitionIn(pool: string, address: Address): Partition {
    const layout = this.#layouts.get(pool);
    if (layout === undefined) throw new Error(`pool ${pool} is not defined`);
    return partitionOf(address, layout);
  }

  knows(pool: string): boolean {
    return this.#layouts.has(pool);
  }

  /** Adds a pool for tags that was just defined. */
  learn(layout: PoolLayout): void {
    this.#layouts.set(layout.pool, layout);
  }
}
