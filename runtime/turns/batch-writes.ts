import type { Address } from '../address.ts';
import type { EffectRequest } from '../define-actor.ts';
import type { HandledMessage, Message, Reply } from '../message.ts';
import { type Activation, type ActorDraft, answerMessage, beginDraft, RETRY_TIMER, timerId } from './actor-draft.ts';
import { JsonTexts } from './codec.ts';
import type { ActorRecord } from './record.ts';
import { keptCount, report } from './trace-count.ts';
import type { DoneTurn } from './turn.ts';

interface AskedEffect {
  readonly id: string;
  readonly request: EffectRequest;
  readonly cause: HandledMessage;
  readonly askedAtMs: number;
  readonly fairnessKey: string | null;
}

/** The writes that the turns of one batch request for its one commit, and the new records of its actors. */
export class BatchWrites {
  readonly drafts = new Map<Address, ActorDraft>();
  readonly sends: Message[] = [];
  /** Ids of the messages in `sends` that are lazy. */
  readonly lazy = new Set<string>();
  readonly timersSet: { id: string; afterMs: number; message: Message }[] = [];
  readonly timersCleared: string[] = [];
  /** Owners of the cleared timers and cancelled effects, by id. */
  readonly owners = new Map<string, Address>();
  readonly effects: AskedEffect[] = [];
  readonly effectsCancelled: string[] = [];
  /** Effects of this batch that ran ahead of its commit and whose results it handled. */
  readonly effectsEnded = new Set<string>();
  readonly replies: { message: Message; reply: Reply }[] = [];
  readonly handled = new Map<Address, number>();
  readonly texts = new JsonTexts();

  /** Applies a successful turn: its state, events, messages, timers and effects. Answers its message. */
  apply(draft: ActorDraft, message: Message, { state, decision, traced }: DoneTurn, now: number): void {
    const unchanged =
      state === draft.record.state &&
      decision.events.length + decision.timersSet.length + decision.timersCleared.length === 0 &&
      decision.effects.length + decision.effectsCancelled.length === 0;
    const asker =
      traced.trace === message.trace ? message : { ...message, trace: traced.trace, leftTrace: message.trace };
    const { sends, known } = report(traced, decision.sends);
    for (const send of sends) this.sends.push(send);
    for (const id of decision.lazy) this.lazy.add(id);
    this.answer(asker, decision.reply);
    if (unchanged && draft.record.revision > 0) return;

    const timers = { ...draft.record.timers };
    for (const name of decision.timersCleared) this.#clearTimer(draft, timers, name);
    for (const timer of decision.timersSet) {
      timers[timer.name] = timer.message.id;
      this.timersSet.push({
        id: timerId(draft.activation.address, timer.name),
        afterMs: timer.afterMs,
        message: timer.message,
      });
    }
    let effects = draft.record.effects;
    for (const effect of decision.effects) {
      effects = [...effects, effect.id];
      const fairnessKey = draft.activation.definition.fairnessKey?.(state) ?? null;
      this.effects.push({ ...effect, cause: asker, askedAtMs: now, fairnessKey });
    }
    for (const id of decision.effectsCancelled) effects = this.#cancelEffect(draft, effects, id);
    if (draft.activation.definition.done?.(state) === true) {
      for (const name of Object.keys(timers)) this.#clearTimer(draft, timers, name);
      for (const id of effects) effects = this.#cancelEffect(draft, effects, id);
    }
    for (const event of decision.events) draft.events.push({ ...event, at: now });
    const lastEvent = draft.record.lastEvent + decision.events.length;
    const revision = draft.record.revision + 1;
    this.change(draft, { ...draft.record, revision, lastEvent, timers, effects, state, traced: keptCount(known) });
  }

  /** Sets the timer that delivers the actor's failing message again. */
  retryIn(draft: ActorDraft, afterMs: number, message: Message): void {
    this.timersSet.push({ id: timerId(draft.activation.address, RETRY_TIMER), afterMs, message });
    this.change(draft, { ...draft.record, timers: { ...draft.record.timers, [RETRY_TIMER]: message.id } });
  }

  clearRetry(draft: ActorDraft): void {
    const timers = { ...draft.record.timers };
    this.#clearTimer(draft, timers, RETRY_TIMER);
    this.change(draft, { ...draft.record, timers });
  }

  /**
   * Takes a timer's message. False when it is not the pending one of its name: a cleared or replaced timer is dropped.
   */
  takeTimer(draft: ActorDraft, message: Message): boolean {
    const name = message.timer ?? '';
    // A timer that waits behind a failing message stays pending until it is handled.
    if (draft.record.timers[name] !== message.id) return false;
    if (draft.record.stuck !== null && name !== RETRY_TIMER) return true;
    const { [name]: _fired, ...timers } = draft.record.timers;
    this.change(draft, { ...draft.record, timers });
    return true;
  }

  #clearTimer(draft: ActorDraft, timers: Record<string, string>, name: string): void {
    if (timers[name] === undefined) return;
    delete timers[name];
    const { address } = draft.activation;
    this.owners.set(timerId(address, name), address);
    this.timersCleared.push(timerId(address, name));
  }

  #cancelEffect(draft: ActorDraft, effects: readonly string[], id: string): readonly string[] {
    if (!effects.includes(id)) return effects;
    this.owners.set(id, draft.activation.address);
    this.effectsCancelled.push(id);
    return effects.filter((other) => other !== id);
  }

  answer(message: HandledMessage, reply: Reply | null): void {
    if (message.session !== undefined) {
      this.replies.push({ message, reply: reply ?? { ok: true, value: null } });
    } else if (message.replyAs !== undefined && message.from !== null && reply !== null) {
      this.sends.push(answerMessage(message, message.from, message.replyAs, reply));
    }
  }

  countHandled(message: Message): void {
    if (message.origin === 'client') this.handled.set(message.to, (this.handled.get(message.to) ?? 0) + 1);
  }

  draftOf(activation: Activation): ActorDraft {
    let draft = this.drafts.get(activation.address);
    if (draft === undefined) {
      draft = beginDraft(activation);
      this.drafts.set(activation.address, draft);
    }
    return draft;
  }

  change(draft: ActorDraft, record: ActorRecord): void {
    draft.record = record;
    draft.dirty = true;
  }
}
