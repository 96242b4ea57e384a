import type { Address } from '../address.ts';
import { addressOf } from '../address.ts';
import type { ActorDefinition, EffectRequest, Schemas } from '../define-actor.ts';
import type { Identity } from '../identity.ts';
import { type Json, plainJson } from '../json.ts';
import type { Message, MessageOrigin, Reply } from '../message.ts';
import { frozen } from '../turns/record.ts';
import { runTurn } from '../turns/turn.ts';

/** What one message led to. */
export interface DrivenTurn {
  readonly type: string;
  /** Null when the handler sent no reply. A refusal is a reply that is not ok. */
  readonly reply: Reply | null;
  readonly events: readonly DrivenEvent[];
  /** Messages to other actors. */
  readonly sends: readonly Message[];
  /** Effects that the turn requested. */
  readonly effects: readonly OpenEffect[];
  /** Ids of effects that the turn cancelled. */
  readonly cancelled: readonly string[];
}

/** One event of the actor's stream. */
export interface DrivenEvent {
  readonly seq: number;
  readonly at: number;
  readonly name: string;
  readonly payload: Json;
}

/** An effect that was requested: send its result as the message `request.replyAs`. */
export interface OpenEffect {
  readonly id: string;
  readonly request: EffectRequest;
}

const START_MS = Date.UTC(2026, 0, 1);

/**
 * Drives one actor of a definition through pure turns, without kernel or store. Ids come from a counter and time only
 * moves with `advance`, so the same messages give the same results. Between turns the state goes through JSON, as in a
 * store, and is frozen, so a handler that changes it in place fails.
 */
export class ActorDriver<State = unknown, Messages extends Schemas = Schemas> {
  readonly address: Address;
  /** Events of all turns. */
  readonly events: DrivenEvent[] = [];
  readonly turns: DrivenTurn[] = [];
  /** Effects that were requested and not cancelled, by id. */
  readonly effects = new Map<string, OpenEffect>();
  /** Pending timers: name to the message that will be sent, and when, Unix ms. */
  readonly timers = new Map<string, { readonly at: number; readonly type: string; readonly payload: Json }>();
  /** Time of the next turn, Unix ms. */
  now = START_MS;
  /** The state after the last turn, as it comes back from a store. */
  state: State;
  /** Number of turns so far. */
  revision = 0;
  /** Identity of the sender of the next messages. */
  identity: Identity | null = null;
  readonly #definition: ActorDefinition<State, Messages>;
  readonly #tenant: string;
  #messages = 0;

  constructor(definition: ActorDefinition<State, Messages>, tenant: string, id: string) {
    this.#definition = definition;
    this.#tenant = tenant;
    this.address = addressOf(definition.kind, tenant, id);
    this.state = definition.state.parse(definition.initial({ address: this.address, tenant, id }));
  }

  /** Moves the time forward. Due timers do not fire by themselves; see `fire`. */
  advance(ms: number): void {
    this.now += ms;
  }

  /** Fires a pending timer at the moment it is due. */
  fire(name: string): DrivenTurn {
    const timer = this.timers.get(name);
    if (timer === undefined) throw new Error(`${this.address} has no timer ${name}`);
    this.timers.delete(name);
    this.now = Math.max(this.now, timer.at);
    return this.send(timer.type, timer.payload, 'timer');
  }

  /** Handles one message. Throws the handler's error; a refusal is the turn's reply. */
  send(type: keyof Messages & string, payload: Json, origin: MessageOrigin = 'client'): DrivenTurn {
    this.#messages += 1;
    const message: Message = {
      id: `00000000-0000-4000-8000-${String(this.#messages).padStart(12, '0')}`,
      to: this.address,
      from: null,
      cause: null,
      trace: '0'.repeat(32),
      origin,
      type,
      payload,
      ...(this.identity === null ? {} : { identity: this.identity }),
    };
    const record = {
      revision: this.revision,
      lastEvent: this.events.length,
      timers: {},
      effects: [...this.effects.keys()],
      stuck: null,
      state: frozen(this.state),
    };
    const outcome = runTurn(this.#definition, record, message, this.#tenant, this.now);
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'refused') {
      const { code, message: text, details } = outcome.error;
      return this.#keep({
        ...NOTHING,
        type,
        reply: { ok: false, code, message: text, details: plainJson(details ?? []) },
      });
    }
    this.revision += 1;
    this.state = this.#definition.state.parse(plainJson(outcome.state));
    return this.#keep({ type, ...this.#take(outcome.decision) });
  }

  #take(decision: Extract<ReturnType<typeof runTurn>, { kind: 'done' }>['decision']): Omit<DrivenTurn, 'type'> {
    const events = decision.events.map(({ name, payload }, index) => ({
      seq: this.events.length + index + 1,
      at: this.now,
      name,
      payload: plainJson(payload),
    }));
    this.events.push(...events);
    for (const name of decision.timersCleared) this.timers.delete(name);
    for (const { name, afterMs, message } of decision.timersSet) {
      this.timers.set(name, { at: this.now + afterMs, type: message.type, payload: message.payload });
    }
    for (const effect of decision.effects) this.effects.set(effect.id, effect);
    for (const id of decision.effectsCancelled) this.effects.delete(id);
    return {
      reply: decision.reply,
      events,
      sends: decision.sends,
      effects: decision.effects,
      cancelled: decision.effectsCancelled,
    };
  }

  #keep(turn: DrivenTurn): DrivenTurn {
    this.turns.push(turn);
    return turn;
  }
}

const NOTHING = { events: [], sends: [], effects: [], cancelled: [] } as const;
