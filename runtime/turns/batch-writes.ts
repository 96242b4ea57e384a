import type { Address } from '../address.ts';
import type { EffectRequest } from '../define-actor.ts';
import type { Message, Reply } from '../message.ts';
import type { ActorRecord } from './record.ts';
import type { Decision } from './turn.ts';
import { answerMessage, beginWork, RETRY_TIMER, type Resident, timerId, type Work } from './work.ts';

interface AskedEffect {
  readonly id: string;
  readonly request: EffectRequest;
  readonly cause: Message;
  readonly askedAtMs: number;
  readonly fairnessKey: string | null;
}

/** What the turns of one batch want written by its one commit, and how each changes the records of its actors. */
export class BatchWrites {
  readonly works = new Map<Address, Work>();
  readonly sends: Message[] = [];
  /** Ids of those of `sends` that nobody waits for. */
  readonly unhurried = new Set<string>();
  readonly timersSet: { id: string; afterMs: number; message: Message }[] = [];
  readonly timersCleared: string[] = [];
  /** Whose timers and effects those are that are cleared and cancelled, by id. */
  readonly owners = new Map<string, Address>();
  readonly effects: AskedEffect[] = [];
  readonly effectsCancelled: string[] = [];
  /** Effects of this batch that ran ahead of its commit and whose results it handled. */
  readonly effectsEnded = new Set<string>();
  readonly replies: { message: Message; reply: Reply }[] = [];
  readonly handled = new Map<Address, number>();

  /** A turn that was done: its state, events, sends, timers and effects. */
  apply(work: Work, message: Message, state: unknown, decision: Decision, now: number): void {
    const unchanged =
      state === work.record.state &&
      decision.events.length + decision.timersSet.length + decision.timersCleared.length === 0 &&
      decision.effects.length + decision.effectsCancelled.length === 0;
    for (const send of decision.sends) this.sends.push(send);
    for (const id of decision.unhurried) this.unhurried.add(id);
    if (unchanged && work.record.revision > 0) return;

    const timers = { ...work.record.timers };
    for (const name of decision.timersCleared) this.#clearTimer(work, timers, name);
    for (const timer of decision.timersSet) {
      timers[timer.name] = timer.message.id;
      this.timersSet.push({
        id: timerId(work.resident.address, timer.name),
        afterMs: timer.afterMs,
        message: timer.message,
      });
    }
    let effects = work.record.effects;
    for (const effect of decision.effects) {
      effects = [...effects, effect.id];
      const fairnessKey = work.resident.definition.fairnessKey?.(state) ?? null;
      this.effects.push({ ...effect, cause: message, askedAtMs: now, fairnessKey });
    }
    for (const id of decision.effectsCancelled) effects = this.#cancelEffect(work, effects, id);
    if (work.resident.definition.done?.(state) === true) {
      for (const name of Object.keys(timers)) this.#clearTimer(work, timers, name);
      for (const id of effects) effects = this.#cancelEffect(work, effects, id);
    }
    for (const event of decision.events) work.events.push({ ...event, at: now });
    const lastEvent = work.record.lastEvent + decision.events.length;
    this.change(work, { ...work.record, revision: work.record.revision + 1, lastEvent, timers, effects, state });
  }

  /** The failing message of the actor comes again. */
  retryIn(work: Work, afterMs: number, message: Message): void {
    this.timersSet.push({ id: timerId(work.resident.address, RETRY_TIMER), afterMs, message });
    this.change(work, { ...work.record, timers: { ...work.record.timers, [RETRY_TIMER]: message.id } });
  }

  clearRetry(work: Work): void {
    const timers = { ...work.record.timers };
    this.#clearTimer(work, timers, RETRY_TIMER);
    this.change(work, { ...work.record, timers });
  }

  /** A timer counts only while it is the pending one of its name: a cleared or replaced one is dropped. */
  takeTimer(work: Work, message: Message): boolean {
    const name = message.timer ?? '';
    // A timer that waits behind a failing message stays pending until it is really handled.
    if (work.record.timers[name] !== message.id) return false;
    if (work.record.stuck !== null && name !== RETRY_TIMER) return true;
    const { [name]: _fired, ...timers } = work.record.timers;
    this.change(work, { ...work.record, timers });
    return true;
  }

  #clearTimer(work: Work, timers: Record<string, string>, name: string): void {
    if (timers[name] === undefined) return;
    delete timers[name];
    const { address } = work.resident;
    this.owners.set(timerId(address, name), address);
    this.timersCleared.push(timerId(address, name));
  }

  #cancelEffect(work: Work, effects: readonly string[], id: string): readonly string[] {
    if (!effects.includes(id)) return effects;
    this.owners.set(id, work.resident.address);
    this.effectsCancelled.push(id);
    return effects.filter((other) => other !== id);
  }

  answer(message: Message, reply: Reply | null): void {
    if (message.session !== undefined) {
      this.replies.push({ message, reply: reply ?? { ok: true, value: null } });
    } else if (message.replyAs !== undefined && message.from !== null && reply !== null) {
      this.sends.push(answerMessage(message, message.from, message.replyAs, reply));
    }
  }

  countHandled(message: Message): void {
    if (message.origin === 'client') this.handled.set(message.to, (this.handled.get(message.to) ?? 0) + 1);
  }

  workOf(resident: Resident): Work {
    let work = this.works.get(resident.address);
    if (work === undefined) {
      work = beginWork(resident);
      this.works.set(resident.address, work);
    }
    return work;
  }

  change(work: Work, record: ActorRecord): void {
    work.record = record;
    work.dirty = true;
  }
}
