import type { z } from 'zod';
import type { EffectMode } from './actor-store.ts';
import { type Address, type Partition, type PoolLayout, partitionOf } from './address.ts';
import type { Query, StoredDocument } from './documents.ts';
import type { ErrorCode, ErrorDetail } from './errors.ts';
import type { Identity } from './identity.ts';
import type { Json, JsonObject } from './json.ts';

export type Schemas = Readonly<Record<string, z.ZodType>>;

const ANSWER = Symbol('answer');

/** A message's schema that names the schema of its answer, see `message`. */
export interface Answered<Answer extends z.ZodType = z.ZodType> {
  readonly [ANSWER]: Answer;
}

/**
 * A message and its answer. `turn.reply` takes that answer and nothing else, it is checked before the commit, and a call of
 * `client.actor(…)` resolves to it. A message without one is only sent: its call resolves when it is in the mailbox.
 */
export function message<Payload extends z.ZodType, Answer extends z.ZodType>(
  payload: Payload,
  answer: Answer,
): Payload & Answered<Answer> {
  return Object.assign(payload.clone(), { [ANSWER]: answer });
}

const isAnswered = (schema: z.ZodType): schema is z.ZodType & Answered => ANSWER in schema;

/** The schema of a message's answer; undefined when it names none. */
export const answerOf = (schema: z.ZodType): z.ZodType | undefined => (isAnswered(schema) ? schema[ANSWER] : undefined);

/** What `turn.reply` takes in the handler of a message; without a named answer that is JSON. */
type ReplyTo<Schema> = Schema extends Answered<infer Answer> ? z.input<Answer> : Json;

/**
 * What a handler may do besides returning the next state (K5): decide. Nothing here touches the world; all of
 * it is written in the batch's one commit, or not at all when the handler throws or refuses.
 */
export interface Turn<Events extends Schemas, Messages extends Schemas, Answer = Json> {
  readonly self: Address;
  readonly tenant: string;
  /** Sending actor, null for a client. */
  readonly sender: Address | null;
  /** Who asked, when a client did. */
  readonly identity: Identity | null;
  readonly messageId: string;
  readonly trace: string;
  /** Recorded time of the turn, Unix ms; the same at replay. */
  readonly now: number;
  /** The next UUID of the turn's seeded sequence; the same at replay. */
  newId(): string;
  /** The next number in [0, 1) of the turn's seeded sequence; the same at replay. */
  random(): number;

  /** Appends an event to the actor's stream. */
  emit<N extends keyof Events & string>(name: N, payload: z.input<Events[N]>): void;
  /**
   * Sends a message to another actor; `replyAs` names the message type its answer arrives as. One that nobody waits for
   * is `lazy`: it may arrive some tens of milliseconds later, together with others.
   */
  tell(to: Address, type: string, payload: Json, options?: TellOptions): void;
  /** Answers the asker, after the commit. */
  reply(value: Answer): void;
  /** Undoes everything this turn decided and answers the asker with an error. */
  refuse(code: ErrorCode, message?: string, details?: readonly ErrorDetail[]): never;
  /** Sends this actor a message after `delayMs`. A timer of the same name is replaced. */
  after<N extends keyof Messages & string>(name: string, delayMs: number, type: N, payload: z.input<Messages[N]>): void;
  clear(timer: string): void;
  /** Requests work in the world; answers the effect's id. */
  effect<N extends keyof Messages & string>(request: EffectRequest<N>): string;
  /** The same for an effect that is defined: its input is typed, and checked when it runs. */
  effect<Input extends z.ZodType, N extends keyof Messages & string>(
    effect: EffectKind<Input>,
    request: RequestOf<Input, N>,
  ): string;
  /** Stops an effect; its late results are dropped. */
  cancelEffect(id: string): void;
}

export interface TellOptions {
  readonly replyAs?: string;
  readonly delivery?: 'lazy';
}

/** A request for work in the world (E1–E3). */
export interface EffectRequest<MessageType extends string = string> {
  /** Name of the effect handler: `model.generate`, `program.run` … */
  readonly kind: string;
  readonly mode: EffectMode;
  /**
   * Of mode `repeatable`: it may begin before the commit that asks for it is durable, and for nothing when that does not
   * happen. For what only reads, and does not look at what that commit writes.
   */
  readonly ahead?: boolean;
  readonly input: JsonObject;
  /** Message type of the result; its payload is an `EffectResult`. */
  readonly replyAs: MessageType;
  /** Message type of intermediate results (payload `EffectProgress`); without it they are dropped. */
  readonly progressAs?: MessageType;
  /** Comes back unchanged in results, so that a handler knows what it asked. */
  readonly context?: Json;
  readonly retry?: RetryPolicy;
  /** Longest one attempt may run, milliseconds. */
  readonly timeoutMs?: number;
}

/** As much of an effect's definition as an actor needs, which never runs it. */
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
 * One message's decision. Method form on purpose: a registry holds definitions of all state types, and the kernel
 * checks state and message with the definition's own schemas before it calls.
 */
type Handler<State, Message, T> = {
  handle(state: State, message: Message, turn: T): Immutable<State>;
}['handle'];

/** Deeply read-only: what a handler returns is never written to again. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

/** An actor kind (K6): everything the kernel needs to serve its actors. */
export interface ActorDefinition<
  State = unknown,
  Messages extends Schemas = Schemas,
  Events extends Schemas = Schemas,
> {
  /** Address segment. */
  readonly kind: string;
  /** Version of the state schema; records of older ones go through `migrate`. */
  readonly version: number;
  readonly state: z.ZodType<State>;
  /** State before the first message. */
  initial(self: { readonly address: Address; readonly tenant: string; readonly id: string }): Immutable<State>;
  readonly messages: Messages;
  readonly events: Events;
  readonly on: {
    readonly [N in keyof Messages]: Handler<State, z.output<Messages[N]>, Turn<Events, Messages, ReplyTo<Messages[N]>>>;
  };
  /** Turns a state of an older version into today's. */
  migrate?(state: Json, fromVersion: number): Json;
  /**
   * Which agent or workflow an actor's effects count as: those of one tenant take turns for places, so that one of them does
   * not hold back the others. Default: all actors of the kind share a turn.
   */
  fairnessKey?(state: State): string | null;
  /** Pool its actors live in (P1). Default: `default`. */
  readonly pool?: 'default' | 'system';
  /** Its actors may be given a place outside their home: `ActorClient.place` (K1, P1, P4). */
  readonly placed?: boolean;
  /** Events after which no other follows: a stream of this actor ends there. */
  readonly finalEvents?: readonly (keyof Events & string)[];
  /**
   * What lists and searches see. Written to the collection by the projector after each change; `version` is filled by
   * the kernel.
   */
  readonly view?: {
    readonly collection: string;
    /** Field tuples to index. */
    readonly indexes?: readonly (readonly string[])[];
    /**
     * What documents of actors have that have not ended, where a document has the id of its actor: a store that lost its
     * last writes may know those no more, and they are taken off the list.
     */
    readonly open?: Query['where'];
    project(
      state: State,
      self: { readonly tenant: string; readonly id: string },
    ): Omit<StoredDocument, 'version'> | null;
  };
  /** True once nothing more will happen: the actor is archived and leaves the store (K8). */
  done?(state: State): boolean;
  /**
   * False: a done actor leaves the store and nothing of it stays, and a later message finds an unknown actor. For kinds
   * that strangers can make many of.
   */
  readonly keepsArchive?: false;
  /**
   * The actor that an ended one belongs to, or null: it is kept while that one runs, and goes with it. For kinds that are
   * parts of a run, such as its approvals.
   */
  belongsTo?(state: State, self: { readonly tenant: string }): Address | null;
  /** True for kinds that are nothing by themselves: they are removed together with what they belong to. */
  readonly isPart?: true;
  /** Which rule of retention applies to its ended actors (runtime/retention). Default: `runs`. */
  readonly retainedAs?: string;
  /** Only these message types may create an actor; any other to an unknown one is refused `not_found`. Default: all. */
  readonly creates?: readonly (keyof Messages & string)[];
}

/** Whether an actor of the kind that is not in the store may be in the archive. */
export const isArchived = ({ done, keepsArchive }: Pick<ActorDefinition, 'done' | 'keepsArchive'>): boolean =>
  done !== undefined && keepsArchive !== false;

/** Types a definition and checks that messages and handlers fit; the kernel's registry takes what this returns. */
export function defineActor<const State, Messages extends Schemas, Events extends Schemas>(
  definition: ActorDefinition<State, Messages, Events>,
): ActorDefinition<State, Messages, Events> {
  const { kind, messages, on } = definition;
  const unhandled = Object.keys(messages).filter((name) => !Object.hasOwn(on, name));
  if (unhandled.length > 0)
    throw new Error(`actor kind ${kind}: "on" has no handler for message ${unhandled.join(', ')}`);
  const unknown = Object.keys(on).filter((name) => !Object.hasOwn(messages, name));
  if (unknown.length > 0)
    throw new Error(`actor kind ${kind}: "messages" has no schema for handler ${unknown.join(', ')}`);
  return definition;
}

/** The actor kinds a node serves, and where their actors live. */
export class Registry {
  readonly #kinds = new Map<string, ActorDefinition>();
  readonly #layouts: Map<string, PoolLayout>;

  constructor(definitions: readonly ActorDefinition[], layouts: readonly PoolLayout[]) {
    this.#layouts = new Map(layouts.map((layout) => [layout.pool, layout]));
    for (const definition of definitions) {
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

  /** Home of an address: its kind's pool, hashed (K1). Actors of a `placed` kind may live elsewhere: Locator. */
  homeOf(address: Address): Partition {
    return this.partitionIn(this.definitionOf(address)?.pool ?? 'default', address);
  }

  /** The partition an address would have in a pool. */
  partitionIn(pool: string, address: Address): Partition {
    const layout = this.#layouts.get(pool);
    if (layout === undefined) throw new Error(`pool ${pool} is not defined`);
    return partitionOf(address, layout);
  }

  knows(pool: string): boolean {
    return this.#layouts.has(pool);
  }

  /** A pool for tags was defined. */
  learn(layout: PoolLayout): void {
    this.#layouts.set(layout.pool, layout);
  }
}
